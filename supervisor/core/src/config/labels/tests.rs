use super::*;

#[test]
fn each_line_names_a_class_and_missing_classes_have_no_name() {
    let labels = Labels::parse("cat\r\ndog\n\nbird");
    assert_eq!([0, 1, 2, 3, 4].map(|class| labels.get(class)), ["cat", "dog", "", "bird", ""]);
    assert_eq!(labels.len(), 4);
    assert!(Labels::parse("").is_empty());
}

#[test]
fn a_label_file_lies_in_its_models_directory() {
    let raw = |path: &str| RawConfig {
        name: "m".into(),
        output: vec![nereid_proto::inference::ModelOutput {
            name: "o".into(),
            label_filename: path.into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    for inside in ["", "labels.txt", "a/../labels.txt", "./a/labels.txt"] {
        assert_eq!(check_paths(&raw(inside)), Ok(()), "{inside}");
    }
    for outside in ["../labels.txt", "a/../../labels.txt", "/labels.txt"] {
        let error = check_paths(&raw(outside)).unwrap_err();
        assert_eq!(
            error,
            ServeError::unsupported(format!(
                "label file path '{outside}' for output 'o' in model 'm' is outside model directory"
            ))
        );
    }
}
