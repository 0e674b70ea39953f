use super::*;
use crate::config::pbtxt;
use proptest::prelude::*;

#[test]
fn directories_are_versions_reserved_or_worth_a_warning() {
    let found = VersionDirectories::read([
        "10",
        "2",
        "0",
        "003",
        "abc",
        "1abc",
        "-1",
        "",
        "warmup",
        "initial_state",
        "configs",
    ]);
    assert_eq!(found.versions, [0, 2, 10]);
    assert_eq!(
        found.warnings,
        [
            "ignore version directory '003' which contains leading zeros in its directory name",
            "ignore version directory 'abc' which fails to convert to integral number",
            "ignore version directory '1abc' which fails to convert to integral number",
            "ignore version directory '-1' which fails to convert to integral number",
            "ignore version directory '' which fails to convert to integral number",
        ]
    );
    assert_eq!(parse_name("9223372036854775808"), Err(NotAVersion::NotANumber));
    assert_eq!(parse_name("9223372036854775807"), Ok(i64::MAX));
}

fn selected(text: &str) -> Selection {
    VersionPolicy::of(&pbtxt::parse(text).unwrap()).select("m", &[1, 3, 20])
}

#[test]
fn the_policy_chooses_among_the_versions_that_are_there() {
    assert_eq!(selected("").versions, [20]);
    assert_eq!(selected("version_policy {}").versions, [20]);
    assert_eq!(selected("version_policy { latest {} }").versions, [20]);
    assert_eq!(selected("version_policy { latest { num_versions: 2 } }").versions, [3, 20]);
    assert_eq!(selected("version_policy { latest { num_versions: 4000000000 } }").versions, [1, 3, 20]);
    assert_eq!(selected("version_policy { all {} }").versions, [1, 3, 20]);
    let specific = selected("version_policy { specific { versions: [ 20, 1, 1, 7 ] } }");
    assert_eq!(specific.versions, [1, 20]);
    assert_eq!(
        specific.warnings,
        ["version 7 is specified for model 'm', but the version directory is not present"]
    );
}

proptest! {
    #[test]
    fn what_is_chosen_is_there_ascending_and_once(
        present in prop::collection::btree_set(0i64..20, 0..8),
        wanted in prop::collection::vec(0i64..20, 0..8),
        count in 0u32..10,
    ) {
        let present: Vec<i64> = present.into_iter().collect();
        for policy in [VersionPolicy::All, VersionPolicy::Latest(count), VersionPolicy::Specific(wanted)] {
            let chosen = policy.select("m", &present).versions;
            prop_assert!(chosen.iter().all(|version| present.contains(version)));
            prop_assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
