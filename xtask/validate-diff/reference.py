"""The reference: protoc-gen-validate for Python, and what becomes of it when a known fault is repaired."""

import functools
import re

from google.protobuf.message import DecodeError
from protoc_gen_validate import validator

from schema import ANY, is_map

# It compiles the same few templates for each field.
validator.Template = functools.cache(validator.Template)

NEWLINE = "`$` in a pattern matches before a newline at the end; in the expressions of the schema it is the end"
FLOATS = "durations are compared as floats, which cannot tell all of them apart"

VALUES = "the values of a map are not looked into where there are rules for its keys"

MAPS = "a list of messages of a key and a value is taken for a map, and not looked into"

# What each repair does to the code that the reference generates for a message.
REPAIRS = {
    NEWLINE: lambda code: re.sub(r"(re\.search\(r'(?:[^'\\]|\\.)*)\$('\,)", r"\1\\Z\2", code),
    MAPS: lambda code: code,
    VALUES: lambda code: re.sub(r"for key in (p\.\w+):", r"for key in keys_of(\1, validate):", code),
    FLOATS: lambda code: re.sub(
        r"dur = (\S+)\.seconds \+ round\(\(10\*\*-9 \* \S+\.nanos\), 9\)", r"dur = \1.seconds * 10**9 + \1.nanos", code
    ),
}


# With a quote in a pattern, which it puts into the text of its error, the code is none. This is always repaired.
TEXT = re.compile(r'ValidationFailed\("(\S+) pattern does not match .*"\)$', re.MULTILINE)


DUR_LIT, IS_MAP = validator.dur_lit, validator.is_map


class Reference:
    """Says of a message what is wrong with it first, or nothing. It generates code for each type, once."""

    def __init__(self, schema, repairs=()):
        self.schema, self.repairs, self.functions, self.ways = schema, repairs, {}, {}

    def verdict(self, message):
        try:
            self.validate(message)
            return next(filter(None, map(self.verdict, self.inner(message))), None)
        except validator.ValidationFailed as failed:
            return str(failed) or "invalid"
        except DecodeError:
            return "what is in an Any is not of its type"

    def validate(self, message):
        name = message.DESCRIPTOR.full_name
        if name not in self.functions:
            self.functions[name] = self.generate(message)
        return self.functions[name](message)

    def generate(self, message):
        # Two of the faults are not in the code but in what writes it.
        validator.dur_lit = exact_literal if FLOATS in self.repairs else DUR_LIT
        validator.is_map = is_map if MAPS in self.repairs else IS_MAP
        code = validator.file_template(validator.ValidatingMessage(message))
        code = TEXT.sub(r'ValidationFailed("\1 pattern")', code)
        for repair in self.repairs:
            code = REPAIRS[repair](code)
        scope = {}
        exec(code, {**vars(validator), "validate": self.validate, "keys_of": keys_of}, scope)
        return scope["generate_validate"]

    def inner(self, message):
        """The messages in the Any of a message, however deep, of which the reference looks at none."""
        for field in self.leads(message.DESCRIPTOR):
            values = getattr(message, field.name)
            if is_map(field):
                values = [values[key] for key in values]
            elif not field.is_repeated:
                values = [values] if message.HasField(field.name) else []
            for value in values:
                if value.DESCRIPTOR.full_name != ANY:
                    yield from self.inner(value)
                elif value.type_url:
                    described = self.schema.pool.FindMessageTypeByName(value.type_url.rsplit("/")[-1])
                    yield self.schema.class_of(described).FromString(value.value)

    def leads(self, described):
        """The fields that may lead to an Any, and are not to be skipped."""
        if described.full_name not in self.ways:
            fields = [field for field in described.fields if self.schema.part(field) is not None]
            fields = [field for field in fields if not self.schema.rules(field).message.skip]
            self.ways[described.full_name] = fields
        return self.ways[described.full_name]


def keys_of(values, validate):
    """The keys of a map whose values have been looked into."""
    for key in values:
        if hasattr(values[key], "DESCRIPTOR"):
            validate(values[key])
    return values


def exact_literal(duration):
    return duration.seconds * 10**9 + duration.nanos
