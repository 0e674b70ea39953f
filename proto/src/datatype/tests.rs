//! The table against the protocol.

use super::DataType;
use crate::inference;

#[test]
fn numbers_and_names_are_those_of_the_protocol() {
    for datatype in DataType::ALL {
        let number = i32::try_from(datatype.number()).unwrap();
        let proto = inference::DataType::try_from(number).unwrap();
        assert_eq!(proto.as_str_name(), datatype.config_name());
        let wire = datatype.config_name().strip_prefix("TYPE_").unwrap();
        assert_eq!(datatype.wire_name(), if wire == "STRING" { "BYTES" } else { wire });
    }
}

#[test]
fn every_type_of_the_protocol_is_known_but_the_invalid_one() {
    for number in 0..64 {
        let known = inference::DataType::try_from(number)
            .is_ok_and(|proto| proto != inference::DataType::TypeInvalid);
        assert_eq!(DataType::from_number(u32::try_from(number).unwrap()).is_some(), known, "{number}");
    }
    assert_eq!(DataType::from_number(u32::MAX), None);
}

#[test]
fn numbers_and_names_lead_back() {
    for (index, datatype) in DataType::ALL.into_iter().enumerate() {
        assert_eq!(datatype as usize, index);
        assert_eq!(DataType::from_number(datatype.number()), Some(datatype));
        assert_eq!(DataType::from_wire_name(datatype.wire_name()), Some(datatype));
        assert_eq!(DataType::from_config_name(datatype.config_name()), Some(datatype));
    }
    assert_eq!(DataType::from_wire_name("fp32"), None);
    assert_eq!(DataType::from_wire_name("STRING"), None);
    assert_eq!(DataType::from_config_name("TYPE_BYTES"), None);
}

#[test]
fn sizes_are_those_of_the_names() {
    for datatype in DataType::ALL {
        let bits = datatype.wire_name().trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let expected = match datatype {
            DataType::Bool => Some(1),
            DataType::Bytes => None,
            _ => Some(bits.parse::<usize>().unwrap() / 8),
        };
        assert_eq!(datatype.byte_size(), expected, "{datatype}");
    }
}
