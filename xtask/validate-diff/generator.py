"""Random messages that aim at the bounds of what their rules allow."""

import math
import random

from google.protobuf.descriptor import FieldDescriptor as F

from schema import ANY, BOUNDS, DURATION, NUMBERS, is_map

RANGES = {
    F.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    F.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    F.CPPTYPE_UINT32: (0, 2**32 - 1),
    F.CPPTYPE_UINT64: (0, 2**64 - 1),
}
NANOS = 10**9

# For each pattern of the schema texts that match it and texts that do not.
PATTERNS = {
    r"^[^?#]+[^?#/]$": (["/a", "ab", "é/b"], ["", "/", "/a/", "a?b", "a#", "ab\n"]),
    r"^[0-9a-zA-Z_\-\./~:]+$": (["a", "A_9-./~:"], ["", "a b", "é", "a\n"]),
    r"^[0-9a-zA-Z_\-\.~:]+$": (["a", "A_9-.~:"], ["", "a/b", "é", "a\n"]),
    r"^[a-z0-9_\-]*$": (["", "html", "a_9-"], ["A", "a.b", "a\n"]),
    r"^[^/]*$": (["", "a", "é"], ["/", "a/b"]),
    r'^$|^/[^\x00-\x1f\x7f ",;<>\\]*$': (["", "/", "/a"], ["a", "/a b", "/\x7f", "/a\n"]),
    r'^$|^[^\x00-\x1f\x7f ",;<>\\]+$': (["", "a", "é"], ["a b", "a;", "\x01", "a\n"]),
    r"^$|^.*\.mmdb$": (["", ".mmdb", "/a.mmdb"], ["a", "a.mmdbx", "a\nb.mmdb", "a.mmdb\n"]),
}
# As PATTERNS, for header names and values, strictly taken, and for either otherwise.
HEADERS = {
    1: (["x-a", "a", ",", ":path"], ["a b", "a\n", "\x00", "é", ":"]),
    2: (["a b", "é", "a\tb"], ["a\n", "\x00", "a\x7f"]),
    0: (["a b", "é", "\x7f"], ["a\n", "\x00", "a\rb"]),
}
TEXTS = ["", "a", "é", "abc", "x" * 40]


class Generator:
    def __init__(self, schema, seed):
        self.schema, self.random = schema, random.Random(seed)
        self.in_any = [m for m in schema.messages if ".extensions." in m.full_name and schema.cost(m) < 6]
        for pattern in self.patterns():
            assert pattern in PATTERNS, f"no samples for {pattern!r}"

    def patterns(self):
        for places in self.schema.by_kind.values():
            for message, name in places:
                if name is not None:
                    rules = self.schema.rules(message.fields_by_name[name])
                    yield from filter(None, (rules.string.pattern, rules.map.keys.string.pattern))

    def one(self):
        """A message, whether it is broken on purpose or not, of any type; as often one that has a rarer rule."""
        aim = None
        if self.random.random() < 0.5:
            message = self.random.choice(self.schema.messages)
        else:
            kind = self.random.choice(self.schema.kind_names)
            message, aim = self.random.choice(self.schema.by_kind[kind])
        self.broken = self.random.random() < 0.7
        self.budget = self.random.choice((5, 20, 60))
        return self.message(message, self.random.randint(1, 3), aim)

    def flaw(self, aimed=False):
        return self.broken and self.random.random() < (0.7 if aimed else 0.2)

    def message(self, described, depth, aim=None):
        message = self.schema.class_of(described)()
        self.budget -= 1
        for oneof in described.oneofs:
            must = self.schema.is_required(oneof) and not self.flaw(aim is None)
            if must or self.random.random() < 0.3 or aim in [field.name for field in oneof.fields]:
                self.fill(message, self.member(oneof, depth, aim), depth, aim)
        for field in described.fields:
            if field.containing_oneof is None:
                aimed = field.name == aim
                needs = self.schema.needs(field) and not self.flaw(aimed)
                # Of numbers and texts the default may be wrong.
                judged = field.message_type is None and not field.is_repeated and not self.flaw(aimed)
                wanted = aimed or self.budget > 0 and self.random.random() < 0.25
                if needs or judged or (wanted and not self.schema.needs(field)):
                    self.fill(message, field, depth, aim)
        return message

    def member(self, oneof, depth, aim):
        for field in oneof.fields:
            if field.name == aim:
                return field
        costs = [self.schema.cost(self.schema.part(field)) for field in oneof.fields]
        limit = max(depth - 1, min(costs))
        return self.random.choice([field for field, cost in zip(oneof.fields, costs) if cost <= limit])

    def fill(self, message, field, depth, aim):
        part, aimed = self.schema.part(field), field.name == aim
        if part is not None and part.file.package == "io.prometheus.client":
            return
        must = self.schema.needs(field) or field.containing_oneof is not None or aimed
        if not must and part is not None and self.schema.cost(part) > depth - 1:
            return
        rules = self.schema.rules(field)
        if is_map(field):
            self.fill_map(getattr(message, field.name), field, rules.map, depth, aimed)
        elif field.is_repeated:
            self.fill_list(getattr(message, field.name), field, rules.repeated, depth, aimed)
        elif part is not None:
            getattr(message, field.name).CopyFrom(self.part(part, rules, depth, aimed))
        else:
            setattr(message, field.name, self.scalar(field, rules, aimed))

    def count(self, low, high, aimed):
        good = [low, low + 1] + ([high, high - 1] if high else [low + 2])
        bad = ([low - 1] if low else []) + ([high + 1] if high else [])
        counts = bad if bad and self.flaw(aimed) else [n for n in good if n >= low and (not high or n <= high)]
        return self.random.choice(counts)

    def fill_list(self, out, field, rules, depth, aimed):
        part = field.message_type
        for _ in range(self.count(rules.min_items, rules.max_items, aimed)):
            if part is not None:
                out.append(self.part(part, rules.items, depth if len(out) < 3 else 1, aimed))
            else:
                item = self.scalar(field, rules.items, aimed)
                for _ in range(20):
                    if not rules.unique or item not in out:
                        break
                    item = self.scalar(field, rules.items, aimed)
                if not rules.unique or item not in out:
                    out.append(item)
        if rules.unique and len(out) > 0 and self.flaw(aimed):
            out.append(out[0])

    def fill_map(self, out, field, rules, depth, aimed):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        for _ in range(self.count(rules.min_pairs, 0, aimed)):
            at = self.scalar(key, rules.keys, aimed)
            if value.message_type is not None:
                out[at].CopyFrom(self.part(value.message_type, rules.values, depth, aimed))
            else:
                out[at] = self.scalar(value, rules.values, aimed)

    def part(self, described, rules, depth, aimed):
        name = described.full_name
        if name == ANY:
            return self.any(described, depth)
        message = self.schema.class_of(described)()
        if name == DURATION:
            nanos = self.number(rules.duration, (-(2**40), 2**40), aimed, is_duration=True)
            message.seconds, message.nanos = divmod(nanos, NANOS)
        elif name.startswith("google.protobuf.") and name.endswith("Value") and len(described.fields) == 1:
            message.value = self.scalar(described.fields[0], rules, aimed)
        elif not name.startswith("google.protobuf."):
            message = self.message(described, depth - 1)
        return message

    def any(self, described, depth):
        any = self.schema.class_of(described)()
        if self.random.random() < 0.7:
            inner = self.random.choice(self.in_any)
            if self.schema.cost(inner) <= max(depth - 1, 2):
                any.type_url = "type.googleapis.com/" + inner.full_name
                any.value = self.message(inner, depth - 1).SerializeToString()
        return any

    def scalar(self, field, rules, aimed):
        kind = field.cpp_type
        if kind in RANGES:
            return self.number(self.numbers(rules), RANGES[kind], aimed)
        if kind in (F.CPPTYPE_DOUBLE, F.CPPTYPE_FLOAT):
            return self.real(self.numbers(rules), aimed)
        if kind == F.CPPTYPE_BOOL:
            only = rules.bool.HasField("const")
            return self.random.random() < 0.5 if not only else rules.bool.const != self.flaw(aimed)
        if kind == F.CPPTYPE_ENUM:
            defined = [value.number for value in field.enum_type.values]
            good = [n for n in defined if n not in rules.enum.not_in]
            bad = [max(defined) + 1, -1, 2**31 - 1] + list(rules.enum.not_in) * 3
            return self.random.choice(bad if self.flaw(aimed) else good)
        if field.type == F.TYPE_BYTES:
            return b"x" * self.length(rules.bytes.min_len, rules.bytes.max_len, aimed)
        return self.text(rules.string, aimed)

    def numbers(self, rules):
        for family in NUMBERS:
            if rules.HasField(family):
                return getattr(rules, family)
        return None

    def number(self, rules, range, aimed, is_duration=False):
        value = lambda bound: bound.seconds * NANOS + bound.nanos if is_duration else bound
        bounds = {bound: value(getattr(rules, bound)) for bound in BOUNDS if rules is not None and rules.HasField(bound)}
        near = {0, 1, *(n for b in bounds.values() for n in (b - 1, b, b + 1)), *range}
        if is_duration:
            near = {n + part for n in near for part in (0, 1, NANOS)} - set(range)
        is_good = lambda n: all(holds(n, bound, at) for bound, at in bounds.items())
        near = sorted(n for n in near if is_duration or range[0] <= n <= range[1])
        good, bad = [n for n in near if is_good(n)], [n for n in near if not is_good(n)]
        return self.random.choice(bad if bad and self.flaw(aimed) else good or near)

    def real(self, rules, aimed):
        bounds = {bound: getattr(rules, bound) for bound in BOUNDS if rules is not None and rules.HasField(bound)}
        near = {0.0, -0.0, 1.0, 0.5, math.inf, *(math.nextafter(b, to) for b in bounds.values() for to in (-1e9, 1e9))}
        near |= {*bounds.values(), *(b + step for b in bounds.values() for step in (-1, 0.25, 1, 2))}
        near = sorted(near) + [math.nan]
        is_good = lambda n: math.isnan(n) or all(holds(n, bound, at) for bound, at in bounds.items())
        good, bad = [n for n in near if is_good(n)], [n for n in near if not is_good(n)]
        return self.random.choice(bad if bad and self.flaw(aimed) else good)

    def length(self, low, high, aimed):
        return self.count(low, high, aimed)

    def text(self, rules, aimed):
        flaw = self.flaw(aimed)
        if getattr(rules, "in"):
            return "other" if flaw else self.random.choice(getattr(rules, "in"))
        if rules.pattern:
            return self.random.choice(PATTERNS[rules.pattern][flaw])
        if rules.prefix:
            return self.random.choice(["", "%", "a%", "%a"] if flaw else ["%", "%a%"])
        low, high = rules.min_len, rules.max_len or rules.max_bytes
        if rules.well_known_regex and self.random.random() < 0.8:
            return self.random.choice(HEADERS[rules.well_known_regex if rules.strict else 0][flaw])
        if not low and not high:
            return self.random.choice(TEXTS)
        # Of the other letter there are too few where as many bytes are allowed as characters are asked.
        letter = self.random.choice("a" if low and low == high and not flaw else "aé")
        if flaw and high and self.random.random() < 0.7:
            return letter * (high + 1)
        if flaw and low:
            return letter * (low - 1)
        return letter * self.random.choice([low, low + 1] + ([high if letter == "a" or rules.max_len else high // 2] if high else []))


def holds(value, bound, at):
    return {"gt": value > at, "gte": value >= at, "lt": value < at, "lte": value <= at}[bound]
