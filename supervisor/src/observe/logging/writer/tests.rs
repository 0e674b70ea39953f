use std::sync::{Mutex, PoisonError};

use super::*;

/// Remembers what was written, and can be held up.
#[derive(Clone, Debug, Default)]
struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    gate: Arc<Mutex<()>>,
}

impl Output {
    fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _open = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.text.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_line_is_written_before_the_guard_is_gone() {
    let output = Output::default();
    let (mut lines, flush) = start(output.clone()).unwrap();
    let expected: String = (0..1000).map(|number| format!("line {number}\n")).collect();
    for line in expected.split_inclusive('\n') {
        lines.write_all(line.as_bytes()).unwrap();
    }
    drop(flush);
    assert_eq!(output.text(), expected);
}

#[test]
fn a_reader_that_does_not_keep_up_costs_lines_and_not_time() {
    let output = Output::default();
    let (mut lines, flush) = start(output.clone()).unwrap();
    let line = [b'x'; 1024];
    let held_up = output.gate.lock().unwrap();
    for _ in 0..2 * BYTES_MAX / line.len() {
        lines.write_all(&line).unwrap();
    }
    assert!(lines.counts.waiting.load(Ordering::Relaxed) <= BYTES_MAX);
    drop(held_up);
    drop(flush);
    let text = output.text();
    assert!(text.len() < BYTES_MAX + 2 * line.len());
    assert!(text.contains("lines of the log were dropped"));
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let output = Output::default();
    let (mut lines, flush) = start(output.clone()).unwrap();
    let held_up = output.gate.lock().unwrap();
    lines.write_all(b"never read\n").unwrap();
    drop(flush);
    drop(held_up);
}
