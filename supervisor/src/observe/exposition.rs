//! The Prometheus text format, version 0.0.4, as scrapers of Triton read it.
//!
//! Written by hand because Triton's counters have names without `_total`, and the OpenMetrics libraries insist on it.
//! It knows nothing of which metrics there are.

use std::fmt::{Display, Write};

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
}

/// The text of a scrape, family by family.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family; its samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample. Label values are escaped.
    pub fn sample<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: impl Display,
    ) {
        self.text.push_str(name);
        let mut first = true;
        for (label, text) in labels {
            self.text.push(if first { '{' } else { ',' });
            first = false;
            self.text.push_str(label);
            self.text.push_str("=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    character => self.text.push(character),
                }
            }
            self.text.push('"');
        }
        if !first {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// The whole text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests;
