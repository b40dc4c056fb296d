"""Compares our verdicts on random messages with the reference's: `cargo xtask validate-diff [messages [seed]]`."""

import collections
import concurrent.futures
import math
import os
import struct
import subprocess
import sys
import threading
import time

from generator import Generator, NANOS, holds
from reference import REPAIRS, Reference
from schema import BOUNDS, Schema, is_map

# In how many messages each rule must have held once, and must have been broken once.
RARE = 2_000
BATCH = 500
PART = 2_500

# The reference as it is, with each of its faults repaired, and with all.
REPAIRED = [(), *((fault,) for fault in REPAIRS), tuple(REPAIRS)]

# By the name of our rule, how its rules end in the schema.
ENDS = {
    "required": ("message.required", "duration.required", "any.required"),
    "oneof_required": ("oneof.required",),
    "range": tuple("." + bound for bound in BOUNDS),
    "min_items": (".min_items", ".min_pairs"),
}


class Ours:
    """Our validator, in a process of its own."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def validate(self, messages):
        frames = [struct.pack("<I", len(part)) + part for message in messages for part in message]
        # It answers while it reads: who wrote everything first would wait for it, and it for them.
        writer = threading.Thread(target=self.write, args=(b"".join(frames),))
        writer.start()
        found = [[self.line() for _ in range(int(self.process.stdout.readline()))] for _ in messages]

        writer.join()
        return found

    def write(self, frames):
        self.process.stdin.write(frames)
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().decode().rstrip("\n").split("\t")


class Found:
    """What came out of comparing."""

    def __init__(self, kinds):
        self.kinds = kinds
        self.held, self.broken = collections.Counter(), collections.Counter()
        self.types, self.counts = set(), collections.Counter()
        self.explained, self.unexplained = collections.Counter(), []

    def add(self, other):
        self.types |= other.types
        self.unexplained += other.unexplained
        for counter in ("held", "broken", "counts", "explained"):
            getattr(self, counter).update(getattr(other, counter))

    def total(self):
        return self.counts["valid"] + self.counts["invalid"]

    def rare(self):
        return [kind for kind in self.kinds if min(self.held[kind], self.broken[kind]) * RARE < self.total()]

    def is_good(self):
        return not self.unexplained and not self.rare() and self.counts["invalid"] * 10 >= self.total() * 3

    def report(self, seconds):
        print(f"{'rule':44} {'held':>9} {'broken':>9}")
        for kind in self.kinds:
            print(f"{kind:44} {self.held[kind]:9} {self.broken[kind]:9}")
        merged, invalid = self.counts["merged"], self.counts["invalid"]
        print(f"\n{self.total()} messages of {len(self.types)} types, {merged} merged of two, {seconds:.0f} s")
        print(f"{invalid / self.total():.0%} of them invalid; {self.counts['agreed']} verdicts agree")
        for fault, count in self.explained.most_common():
            print(f"{count} differ, as the reference has a fault: {fault}")
        print(f"{len(self.unexplained)} differ unexplained")
        if self.rare():
            print(f"too rarely held or broken: {', '.join(self.rare())}")


class Tally:
    """Counts how often each rule was held, and broken."""

    def __init__(self, schema, found):
        self.schema, self.held, self.broken = schema, found.held, found.broken

    def hold(self, message):
        """All rules that a message without a fault has been held to."""
        for oneof in message.DESCRIPTOR.oneofs:
            if self.schema.is_required(oneof):
                self.held["oneof.required"] += 1
        for field in message.DESCRIPTOR.fields:
            if field.is_repeated:
                values = getattr(message, field.name)
                if is_map(field):
                    values = [values[key] for key in values]
                is_there = len(values) > 0
            else:
                is_there = not field.has_presence or message.HasField(field.name)
                values = [getattr(message, field.name)] if is_there else []
            if is_there:
                self.held.update(self.schema.kinds.get(field.full_name, ()))
            part = self.schema.part(field)
            if part is not None and not part.full_name.startswith("google.protobuf."):
                for value in values:
                    self.hold(value)

    def break_(self, violations):
        for path, field, rule, says in violations:
            ends = ENDS.get(rule, ("." + rule,))
            of_other_part = "map.values." if path.endswith("].key") else "map.keys."
            for kind in self.schema.kinds.get(field, ()):
                is_meant = kind.endswith(ends) and not kind.startswith(of_other_part)
                if is_meant and (rule != "range" or self.breaks(field, kind, says)):
                    self.broken[kind] += 1

    def breaks(self, field, kind, says):
        """Whether it is this bound that a number is out of."""
        value = says.rsplit(" is ", 1)[1]
        message, name = field.rsplit(".", 1)
        rules = self.schema.rules(self.schema.pool.FindMessageTypeByName(message).fields_by_name[name])
        for part in kind.split("."):
            rules = getattr(rules, part)
        if kind.startswith("duration."):
            bound = rules.seconds + rules.nanos / NANOS
            value = float(value[:-1])
            # What is nearer than a float can tell is out of the bound that it is at.
            return math.isclose(value, bound, abs_tol=1e-6) or not holds(value, kind.rsplit(".")[-1], bound)
        return not holds(float(value), kind.rsplit(".")[-1], rules)


class Diff:
    def __init__(self, schema, ours, references, seed):
        self.schema, self.ours = schema, ours
        self.generator = Generator(schema, seed)
        self.reference, *self.repaired = references
        self.found = Found(schema.kind_names)
        self.tally = Tally(schema, self.found)

    def batch(self, count):
        messages = [self.encoded() for _ in range(count)]
        urls = [("type.googleapis.com/" + message.DESCRIPTOR.full_name).encode() for message, _ in messages]
        found = self.ours.validate(list(zip(urls, (encoded for _, encoded in messages))))
        for (message, encoded), violations in zip(messages, found):
            self.compare(message, encoded, violations)

    def encoded(self):
        """A message and its bytes; of one in twenty they are those of two, which a reader merges."""
        message = self.generator.one()
        encoded = message.SerializeToString()
        if self.generator.random.random() < 0.05:
            other = self.generator.message(message.DESCRIPTOR, 2)
            encoded += other.SerializeToString()
            message = type(message).FromString(encoded)
            self.found.counts["merged"] += 1
        return message, encoded

    def compare(self, message, encoded, violations):
        self.found.types.add(message.DESCRIPTOR.full_name)
        verdict = self.reference.verdict(message)
        self.found.counts["invalid" if verdict else "valid"] += 1
        if (verdict is None) == (not violations):
            self.found.counts["agreed"] += 1
            self.tally.break_(violations) if verdict else self.tally.hold(message)
            return
        agree = lambda reference: (reference.verdict(message) is None) == (not violations)
        repairs = next((reference.repairs for reference in self.repaired if agree(reference)), None)
        if repairs:
            self.found.explained[" / ".join(repairs)] += 1
        else:
            self.found.unexplained.append((message.DESCRIPTOR.full_name, encoded.hex(), verdict, violations))


class Share:
    """Compares parts of the messages, in a process of its own. What a part holds does not depend on who does it."""

    def __init__(self, program, descriptors):
        self.schema, self.ours = read(descriptors), Ours(program)
        self.references = [Reference(self.schema, repairs) for repairs in REPAIRED]

    @classmethod
    def begin(cls, *arguments):
        cls.own = cls(*arguments)

    @classmethod
    def run(cls, count, seed):
        own = cls.own
        diff = Diff(own.schema, own.ours, own.references, seed)
        for at in range(0, count, BATCH):
            diff.batch(min(BATCH, count - at))
        return diff.found


def read(descriptors):
    with open(descriptors, "rb") as file:
        return Schema(file.read())


def main(program, descriptors, count=100_000, seed=1, workers=os.cpu_count()):
    started, count, first = time.monotonic(), int(count), int(seed) * 1_000_000
    found = Found(read(descriptors).kind_names)
    with concurrent.futures.ProcessPoolExecutor(int(workers), initializer=Share.begin, initargs=(program, descriptors)) as pool:
        parts = [(min(PART, count - at), first + at) for at in range(0, count, PART)]
        parts = [pool.submit(Share.run, *part) for part in parts]
        try:
            for part in concurrent.futures.as_completed(parts):
                found.add(part.result())
                for name, encoded, theirs, ours in part.result().unexplained:
                    print(f"UNEXPLAINED {name} {encoded[:400]}\n  reference: {theirs}\n  ours: {ours[:3]}", flush=True)
                print(f"{found.total()} of {count}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    found.report(time.monotonic() - started)
    sys.exit(not found.is_good())


if __name__ == "__main__":
    main(*sys.argv[1:])
