//! The fuzz targets as ordinary tests: over the committed seeds, over changes of them, and over arbitrary bytes.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

#[path = "../fuzz/bodies.rs"]
mod bodies;

use proptest::{prelude::*, sample::Index};
use std::{fs, path::Path};

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let seeds: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!seeds.is_empty(), "no seeds for {target}");
    seeds
}

/// Seeds with some bytes replaced, inserted or cut off.
fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<Index>(), any::<u8>(), 0..4_u8);
    (prop::sample::select(seeds(target)), prop::collection::vec(change, 0..6)).prop_map(
        |(mut bytes, changes)| {
            for (place, value, kind) in changes {
                let place = place.index(bytes.len() + 1);
                match kind {
                    0 => bytes.truncate(place),
                    1 => bytes.insert(place, value),
                    _ => {
                        if let Some(byte) = bytes.get_mut(place) {
                            *byte = value;
                        }
                    }
                }
            }
            bytes
        },
    )
}

#[test]
fn the_committed_seeds_do_no_harm() {
    seeds("decode_message").iter().for_each(|seed| bodies::decode_message(seed));
    seeds("check_descriptor").iter().for_each(|seed| bodies::check_descriptor(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_packets_do_no_harm(data in changed("decode_message")) {
        bodies::decode_message(&data);
    }

    #[test]
    fn changed_descriptors_do_no_harm(data in changed("check_descriptor")) {
        bodies::check_descriptor(&data);
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(data in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::decode_message(&data);
        bodies::check_descriptor(&data);
    }
}
