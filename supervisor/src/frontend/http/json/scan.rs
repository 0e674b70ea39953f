//! The grammar: walks over JSON text and says where it is wrong.
//!
//! Works without recursion and without keeping values, so neither deep nesting nor a large document costs more than
//! one bit for each open bracket. Accepts what the protocol's first server accepts: `NaN`, `Inf` and `Infinity` as
//! numbers, and any bytes above 0x1f in strings.

use nereid_core::error::ServeError;

/// Where and why a text is not JSON. The words are those that clients of Triton know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: &'static str,
    pub(crate) offset: usize,
}

impl From<SyntaxError> for ServeError {
    fn from(error: SyntaxError) -> Self {
        Self::internal(format!(
            "failed to parse the request JSON buffer: {} at {}",
            error.message, error.offset
        ))
    }
}

/// Kinds of container that are open, innermost last: one bit each.
#[derive(Default)]
struct Nesting {
    words: Vec<u64>,
    depth: usize,
}

impl Nesting {
    const BITS: usize = 64;

    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / Self::BITS, self.depth % Self::BITS);
        if word == self.words.len() {
            self.words.push(0);
        }
        self.words[word] = (self.words[word] & !(1 << bit)) | (u64::from(object) << bit);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether the innermost container is an object; none when none is open.
    fn innermost_is_object(&self) -> Option<bool> {
        let index = self.depth.checked_sub(1)?;
        Some(self.words[index / Self::BITS] >> (index % Self::BITS) & 1 == 1)
    }
}

/// A position in a JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

type Scan<T> = Result<T, SyntaxError>;

impl<'a> Scanner<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The text between two offsets.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Steps over `byte` if it comes next.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    pub(crate) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    pub(crate) const fn fail<T>(&self, message: &'static str) -> Scan<T> {
        Err(SyntaxError { message, offset: self.at })
    }

    /// After the document's value: nothing may follow.
    pub(crate) fn end(&mut self) -> Scan<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail("The document root must not be followed by other values."),
        }
    }

    /// Before the document's value: there must be one.
    pub(crate) fn begin(&mut self) -> Scan<()> {
        self.space();
        match self.peek() {
            None => self.fail("The document is empty."),
            Some(_) => Ok(()),
        }
    }

    /// Steps over one value and returns its text.
    pub(crate) fn value(&mut self) -> Scan<&'a [u8]> {
        self.space();
        let start = self.at;
        let mut nesting = Nesting::default();
        loop {
            if self.opens_or_is_scalar(&mut nesting)? {
                continue;
            }
            if self.closes(&mut nesting)? {
                return Ok(self.between(start, self.at));
            }
        }
    }

    /// At a value. True: a container was opened and its first value comes next. False: the value is over.
    fn opens_or_is_scalar(&mut self, nesting: &mut Nesting) -> Scan<bool> {
        self.space();
        match self.peek() {
            Some(b'[') => {
                self.at += 1;
                self.space();
                if self.take(b']') {
                    return Ok(false);
                }
                nesting.push(false);
                Ok(true)
            }
            Some(b'{') => {
                self.at += 1;
                self.space();
                if self.take(b'}') {
                    return Ok(false);
                }
                self.member_name()?;
                nesting.push(true);
                Ok(true)
            }
            Some(b'"') => self.string().map(|_| false),
            Some(b't') => self.word(b"true").map(|()| false),
            Some(b'f') => self.word(b"false").map(|()| false),
            Some(b'n') => self.word(b"null").map(|()| false),
            _ => self.number().map(|_| false),
        }
    }

    /// After a value. True: the outermost value is over. False: another one follows.
    fn closes(&mut self, nesting: &mut Nesting) -> Scan<bool> {
        loop {
            let Some(object) = nesting.innermost_is_object() else { return Ok(true) };
            let more = if object { self.next_member()? } else { self.next_element()? };
            if more {
                if object {
                    self.member_name()?;
                }
                return Ok(false);
            }
            nesting.pop();
        }
    }

    /// After an element: true if another one follows, false if the array is over.
    pub(crate) fn next_element(&mut self) -> Scan<bool> {
        self.space();
        if self.take(b',') {
            Ok(true)
        } else if self.take(b']') {
            Ok(false)
        } else {
            self.fail("Missing a comma or ] after an array element.")
        }
    }

    /// After a member: true if another one follows, false if the object is over.
    pub(crate) fn next_member(&mut self) -> Scan<bool> {
        self.space();
        if self.take(b',') {
            Ok(true)
        } else if self.take(b'}') {
            Ok(false)
        } else {
            self.fail("Missing a comma or } after an object member.")
        }
    }

    /// A member's name and colon. Returns the name with its quotation marks.
    pub(crate) fn member_name(&mut self) -> Scan<&'a [u8]> {
        self.space();
        if self.peek() != Some(b'"') {
            return self.fail("Missing a name for object member.");
        }
        let name = self.string()?;
        self.space();
        if self.take(b':') { Ok(name) } else { self.fail("Missing a colon after a name of object member.") }
    }

    /// A string with its quotation marks.
    pub(crate) fn string(&mut self) -> Scan<&'a [u8]> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.between(start, self.at));
                }
                Some(b'\\') => self.escape()?,
                Some(0x20..) => self.at += 1,
                Some(0) | None => {
                    return Err(SyntaxError {
                        message: "Missing a closing quotation mark in string.",
                        offset: start,
                    });
                }
                Some(_) => return self.fail("Invalid encoding in string."),
            }
        }
    }

    fn escape(&mut self) -> Scan<()> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                let unit = self.hex(start)?;
                if (0xd800..=0xdfff).contains(&unit) {
                    let paired = unit <= 0xdbff && self.take(b'\\') && self.take(b'u');
                    if !paired || !(0xdc00..=0xdfff).contains(&self.hex(start)?) {
                        return Err(SyntaxError {
                            message: "The surrogate pair in string is invalid.",
                            offset: start,
                        });
                    }
                }
            }
            _ => {
                return Err(SyntaxError { message: "Invalid escape character in string.", offset: start });
            }
        }
        Ok(())
    }

    fn hex(&mut self, start: usize) -> Scan<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(SyntaxError {
                    message: "Incorrect hex digit after \\u escape in string.",
                    offset: start,
                });
            };
            self.at += 1;
            unit = unit << 4 | digit;
        }
        Ok(unit)
    }

    fn word(&mut self, word: &[u8]) -> Scan<()> {
        for &byte in word {
            if !self.take(byte) {
                return self.fail("Invalid value.");
            }
        }
        Ok(())
    }

    /// A number, or one of the words that stand for what no number can say.
    pub(crate) fn number(&mut self) -> Scan<&'a [u8]> {
        let start = self.at;
        self.take(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(b'N') => {
                self.word(b"NaN")?;
                return Ok(self.between(start, self.at));
            }
            Some(b'I') => {
                self.word(b"Inf")?;
                if self.peek() == Some(b'i') {
                    self.word(b"inity")?;
                }
                return Ok(self.between(start, self.at));
            }
            _ => return self.fail("Invalid value."),
        }
        if self.take(b'.') {
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail("Miss fraction part in number.");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail("Miss exponent in number.");
            }
            self.digits();
        }
        Ok(self.between(start, self.at))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }
}
