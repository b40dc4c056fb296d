//! Each example shows what it says it shows.

use crate::program::Program;

/// Runs an example that ends by itself; it must print lines with these texts, in this order.
fn shows(path: &str, texts: &[&str]) {
    let mut program = Program::start(path, [""; 0]);
    for text in texts {
        program.expect(text);
    }
    program.finish();
}

#[test]
fn custom_node_hash() {
    shows(
        env!("CARGO_BIN_EXE_custom_node_hash"),
        &[
            "n1 is served ingress-cart.eu.example.org, ingress-search.eu.example.org",
            "n2 is served ingress-cart.eu",
            "n3 is served egress-cart.us",
            "n4 is refused: node.metadata[\"role\"] is not set; set it",
            "groups: [Fleet { role: \"egress\", region: \"us\" }, Fleet {",
        ],
    );
}
