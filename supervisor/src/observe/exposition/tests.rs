//! The text, to the letter.

use super::*;

#[test]
fn a_family_has_help_type_and_samples_with_escaped_labels() {
    let mut exposition = Exposition::default();
    exposition.family("a_count", Kind::Counter, "Things");
    exposition.sample("a_count", [("model", "m\"\\\n"), ("version", "1")], 3);
    exposition.family("b", Kind::Gauge, "Other things");
    exposition.sample("b", [], 0.5);
    assert_eq!(
        exposition.into_text(),
        "# HELP a_count Things\n# TYPE a_count counter\na_count{model=\"m\\\"\\\\\\n\",version=\"1\"} 3\n\
         # HELP b Other things\n# TYPE b gauge\nb 0.5\n"
    );
}
