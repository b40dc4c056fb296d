use crate::schema::Schema;

/// As much of the annotations as the tests use.
const RULES: &str = r#"
    package validate;
    import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions { FieldRules rules = 1071; }
    extend google.protobuf.OneofOptions { bool required = 1072; }
    extend google.protobuf.MessageOptions { bool disabled = 1073; bool ignored = 1074; }
    message FieldRules { oneof type { UInt32Rules uint32 = 1; StringRules string = 2; RepeatedRules repeated = 3; } }
    message UInt32Rules { optional uint32 gt = 1; optional uint32 lt = 2; optional uint32 const = 3; }
    message StringRules { optional uint64 min_len = 1; optional bool email = 2; }
    message RepeatedRules { optional uint64 min_items = 1; FieldRules items = 2; }
"#;

fn generate(messages: &str) -> anyhow::Result<String> {
    let files = [
        ("rules.proto", RULES.to_owned()),
        (
            "user.proto",
            format!("package user; import \"rules.proto\"; {messages}"),
        ),
    ];
    let files =
        files.map(|(name, text)| (name.to_owned(), format!("syntax = \"proto3\";\n{text}")));
    let schema = Schema::compile(&files.into())?;
    let files = super::generate(schema.pool())?;
    Ok(String::from_utf8(files["mod.rs"].clone())?)
}

#[test]
fn rules_are_written_down() {
    let text = generate(
        "message M {
            uint32 free = 1;
            uint32 number = 2 [(validate.rules).uint32 = {gt: 1 lt: 5}];
            repeated string texts = 3 [(validate.rules).repeated = {min_items: 1 items {string {min_len: 2}}}];
            oneof choice { option (validate.required) = true; uint32 a = 4; M b = 5; }
        }",
    );
    let text = text.expect("all rules are known");
    let expected = r#"static user_M: Message = Message {
    name: "user.M",
    fields: &[
        field(2, "number", T::Always, H::Integer(I::U32, &INTEGER_GT_1_LT_5)),
        field(3, "texts", T::Many(&ITEMS_1), H::Text(&TEXT_MIN_LEN_2)),
        field(4, "a", T::Optional, H::Opaque(W::Varint)),
        field(5, "b", T::Optional, H::Message(&user_M)),
    ],
    oneofs: &[
        Oneof { name: "choice", required: true, members: 0xc },
    ],
    asked: 0x3,
    ..Message::FREE
};
"#;
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_rule_that_is_not_known_stops_it() {
    for (field, rule) in [
        (
            "string f = 1 [(validate.rules).string.email = true];",
            "string.email",
        ),
        (
            "uint32 f = 1 [(validate.rules).uint32.const = 1];",
            "uint32.const",
        ),
        (
            "uint32 f = 1 [(validate.rules).string.min_len = 1];",
            "string.min_len",
        ),
        (
            "repeated string f = 1 [(validate.rules).repeated.items.string.email = true];",
            "string.email",
        ),
    ] {
        let error = generate(&format!("message M {{ {field} }}")).expect_err("it is not known");
        let error = format!("{error:#}");
        assert!(
            error.contains(rule) && error.contains("user.M.f"),
            "{error}"
        );
    }
    let disabled = generate("message M { option (validate.disabled) = true; }");
    let error = disabled.expect_err("it is not known").to_string();
    assert!(error.contains("validate.disabled"), "{error}");
}
