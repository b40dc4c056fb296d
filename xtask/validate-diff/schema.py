"""The schema: its messages, the rules of their fields, and by which names the rules are counted."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from validate import validate_pb2

NUMBERS = ("float", "double", "int32", "int64", "uint32", "uint64", "duration")
BOUNDS = ("gt", "gte", "lt", "lte")
ANY, DURATION = "google.protobuf.Any", "google.protobuf.Duration"

# What says no more than how another rule is to be taken.
MODIFIERS = ("strict", "ignore_empty", "skip")


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


class Schema:
    def __init__(self, encoded):
        files = descriptor_pb2.FileDescriptorSet.FromString(encoded).file
        self.pool = descriptor_pool.DescriptorPool()
        for file in files:
            self.pool.AddSerializedFile(file.SerializeToString())
        self.messages, self.kinds, self.by_kind = [], {}, {}
        self.rules_by_field, self.needed = {}, {}
        for file in files:
            described = self.pool.FindFileByName(file.name)
            if file.syntax == "proto3" and file.package != "google.protobuf":
                for message in described.message_types_by_name.values():
                    self.add(message)
        self.messages.sort(key=lambda message: message.full_name)
        self.costs = self.find_costs()
        self.kind_names = sorted(self.by_kind)

    def add(self, message):
        if message.GetOptions().map_entry:
            return
        self.messages.append(message)
        for field in message.fields:
            for kind in self.rules_of(field):
                self.kinds.setdefault(field.full_name, []).append(kind)
                self.by_kind.setdefault(kind, []).append((message, field.name))
        for oneof in message.oneofs:
            if self.is_required(oneof):
                self.kinds.setdefault(oneof.full_name, []).append("oneof.required")
                self.by_kind.setdefault("oneof.required", []).append((message, None))
        for nested in message.nested_types:
            self.add(nested)

    def rules(self, field):
        if field not in self.rules_by_field:
            rules = validate_pb2.FieldRules()
            # The reference writes patterns of its own into the options.
            rules.CopyFrom(field.GetOptions().Extensions[validate_pb2.rules])
            self.rules_by_field[field] = rules
        return self.rules_by_field[field]

    @staticmethod
    def is_required(oneof):
        return oneof.GetOptions().Extensions[validate_pb2.required]

    def rules_of(self, field):
        """The names of its rules."""
        def read(message, way):
            for part, value in message.ListFields():
                name = f"{way}.{part.name}" if way else part.name
                if part.message_type is not None and part.message_type.full_name.startswith("validate."):
                    yield from read(value, name)
                elif part.name in BOUNDS or (part.name not in MODIFIERS and value):
                    yield name
        return list(read(self.rules(field), ""))

    def class_of(self, message):
        return message_factory.GetMessageClass(message)

    def needs(self, field):
        """Whether a message without this field is wrong."""
        if field not in self.needed:
            self.needed[field] = self.find_needs(field)
        return self.needed[field]

    def find_needs(self, field):
        rules = self.rules(field)
        if is_map(field):
            return rules.map.min_pairs > 0
        if field.is_repeated:
            return rules.repeated.min_items > 0
        if field.containing_oneof is not None:
            return False
        return rules.message.required or rules.duration.required or rules.any.required

    def part(self, field):
        """The message that a field leads to."""
        if is_map(field):
            return field.message_type.fields_by_name["value"].message_type
        return field.message_type

    def find_costs(self):
        """How deep each message is at least, if nothing is wrong in it."""
        costs = {}
        def cost(field):
            part = self.part(field)
            if part is None or part.full_name.startswith("google.protobuf."):
                return 0
            return costs.get(part.full_name, 1000)
        while True:
            new = {}
            for message in self.messages:
                needed = [cost(field) for field in message.fields if self.needs(field)]
                for oneof in message.oneofs:
                    if self.is_required(oneof):
                        needed.append(min(cost(field) for field in oneof.fields))
                new[message.full_name] = 1 + max(needed, default=0)
            if new == costs:
                return costs
            costs = new

    def cost(self, message):
        return self.costs.get(message.full_name, 0) if message is not None else 0
