use crate::{FILE_DESCRIPTOR_SET, inference as pb};
use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{DescriptorPool, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use std::collections::BTreeSet;

/// The public protocols, one message, enum or service a line: what clients depend on.
/// `*` marks a repeated field, `->` a map, `@` the oneof; names without a package are `inference`'s.
const PROTOCOL: &str = include_str!("tests_protocol.txt");

fn pool() -> DescriptorPool {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap()
}

fn public(package: &str) -> bool {
    matches!(package, "inference" | "grpc.health.v1")
}

fn short(name: &str) -> &str {
    name.strip_prefix("inference.").unwrap_or(name)
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Message(m) => short(m.full_name()).to_owned(),
        Kind::Enum(e) => short(e.full_name()).to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn field(f: &FieldDescriptor) -> String {
    let ty = match f.kind() {
        Kind::Message(entry) if f.is_map() => {
            let of = |f: FieldDescriptor| kind(&f.kind());
            format!("{}->{}", of(entry.map_entry_key_field()), of(entry.map_entry_value_field()))
        }
        k => format!("{}{}", if f.is_list() { "*" } else { "" }, kind(&k)),
    };
    let oneof = f.containing_oneof().map(|o| format!(" @{}", o.name())).unwrap_or_default();
    format!("{} {} {ty}{oneof}", f.number(), f.name())
}

fn message(m: &MessageDescriptor) -> String {
    let mut fields: Vec<_> = m.fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    let fields: Vec<_> = fields.iter().map(field).collect();
    format!("{} {}", short(m.full_name()), fields.join(", ")).trim_end().to_owned()
}

fn enumeration(e: &EnumDescriptor) -> String {
    let values: Vec<_> = e.values().map(|v| format!("{} {}", v.number(), v.name())).collect();
    format!("enum {} {}", short(e.full_name()), values.join(", "))
}

#[test]
fn the_public_protocols_have_the_names_and_numbers_clients_expect() {
    let pool = pool();
    let messages =
        pool.all_messages().filter(|m| public(m.package_name()) && !m.is_map_entry()).map(|m| message(&m));
    let enums = pool.all_enums().filter(|e| public(e.package_name())).map(|e| enumeration(&e));
    let services = pool.services().filter(|s| public(s.package_name())).map(|s| {
        let methods: Vec<_> = s.methods().map(|m| m.name().to_owned()).collect();
        format!("rpc {} {}", short(s.full_name()), methods.join(", "))
    });
    let have: BTreeSet<String> = messages.chain(enums).chain(services).collect();
    let want: BTreeSet<String> = PROTOCOL.lines().map(str::to_owned).collect();
    let missing: Vec<_> = want.difference(&have).collect();
    let unexpected: Vec<_> = have.difference(&want).collect();
    assert!(missing.is_empty() && unexpected.is_empty(), "missing {missing:#?}\nunexpected {unexpected:#?}");
}

#[test]
fn methods_take_and_return_the_messages_of_their_name() {
    let service = pool().get_service_by_name("inference.GRPCInferenceService").unwrap();
    for m in service.methods() {
        let name = m.name();
        let stream = name == "ModelStreamInfer";
        let input = if stream { "ModelInferRequest".to_owned() } else { format!("{name}Request") };
        assert_eq!(m.input().name(), input);
        assert_eq!(m.output().name(), format!("{name}Response"));
        assert_eq!((m.is_client_streaming(), m.is_server_streaming()), (stream, stream), "{name}");
    }
}

#[test]
fn the_descriptors_carry_no_source_info() {
    assert!(pool().file_descriptor_protos().all(|f| f.source_code_info.is_none()));
}

#[test]
fn raw_input_contents_decode_without_a_copy() {
    let tensors = [vec![1_u8; 4096], vec![2; 10], vec![]];
    let request = pb::ModelInferRequest {
        model_name: "m".to_owned(),
        raw_input_contents: tensors.iter().cloned().map(Bytes::from).collect(),
        ..Default::default()
    };
    let wire = Bytes::from(request.encode_to_vec());
    let decoded = pb::ModelInferRequest::decode(wire.clone()).unwrap();
    assert_eq!(decoded, request);
    let wire = wire.as_ptr_range();
    for raw in decoded.raw_input_contents.iter().filter(|r| !r.is_empty()) {
        let raw = raw.as_ptr_range();
        assert!(wire.start <= raw.start && raw.end <= wire.end, "copied out of the request");
    }
}

#[test]
fn maps_encode_in_the_order_of_their_keys() {
    let parameter = |v: &str| pb::ModelParameter { string_value: v.to_owned() };
    let config = |keys: &[&str]| pb::ModelConfig {
        parameters: keys.iter().map(|k| ((*k).to_owned(), parameter(k))).collect(),
        ..Default::default()
    };
    assert_eq!(config(&["a", "b", "c"]).encode_to_vec(), config(&["c", "a", "b"]).encode_to_vec());
}

#[cfg(feature = "service")]
#[test]
fn the_services_have_their_wire_names() {
    use tonic::server::NamedService;
    fn name<S: NamedService>(_: &S) -> &'static str {
        S::NAME
    }
    let inference = pb::grpc_inference_service_server::GrpcInferenceServiceServer::new(());
    assert_eq!(name(&inference), "inference.GRPCInferenceService");
    let health = crate::health::health_server::HealthServer::new(());
    assert_eq!(name(&health), "grpc.health.v1.Health");
}
