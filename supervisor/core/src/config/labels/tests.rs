use super::*;

#[test]
fn each_line_names_a_class_and_missing_classes_have_no_name() {
    let labels = Labels::parse("cat\r\ndog\n\nbird");
    assert_eq!([0, 1, 2, 3, 4].map(|class| labels.get(class)), ["cat", "dog", "", "bird", ""]);
    assert_eq!(labels.len(), 4);
    assert!(Labels::parse("").is_empty());
}
