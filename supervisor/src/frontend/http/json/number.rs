//! Numbers between text and memory: exact both ways.
//!
//! Parsing gives the nearest double, so that a float that was printed as a double comes back as the same float.
//! Printing gives the shortest digits that name the double, laid out as clients of Triton see them: decimal up to
//! 21 digits before and 6 zeros after the point, an exponent beyond.

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
/// Integers up to here are exact as doubles.
const EXACT_MANTISSA: u64 = 1 << 53;
/// Digits that always fit into a `u64`.
const DIGITS_MAX: u32 = 19;

/// The unsigned integer that `text`, a scanned number, writes; none for fractions, exponents and what is out of range.
pub(crate) fn parse_unsigned(text: &[u8]) -> Option<u64> {
    if text == b"-0" {
        return Some(0);
    }
    let mut value = 0_u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!text.is_empty()).then_some(value)
}

/// As [`parse_unsigned`], with a sign.
pub(crate) fn parse_signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0_i64.checked_sub_unsigned(parse_unsigned(digits)?),
        None => i64::try_from(parse_unsigned(text)?).ok(),
    }
}

/// The double nearest to a scanned number. Infinite for a number that no double can hold; see [`is_too_big`].
pub(crate) fn parse_double(text: &[u8]) -> f64 {
    parse_short(text).unwrap_or_else(|| parse_any(text))
}

/// Whether `value` is infinite although `text` names a finite number.
pub(crate) fn is_too_big(text: &[u8], value: f64) -> bool {
    value.is_infinite() && !text.contains(&b'I')
}

/// Numbers of up to 19 digits and a small exponent, which are nearly all: one exact multiplication or division of
/// exact doubles rounds correctly.
fn parse_short(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut mantissa = 0_u64;
    let mut count = 0_u32;
    let mut exponent = 0_i32;
    let mut fraction = false;
    let mut bytes = digits.iter();
    for &byte in bytes.by_ref() {
        match byte {
            b'0'..=b'9' => {
                count += 1;
                if count > DIGITS_MAX {
                    return None;
                }
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                exponent -= i32::from(fraction);
            }
            b'.' => fraction = true,
            b'e' | b'E' => {
                exponent += parse_exponent(bytes.as_slice())?;
                break;
            }
            _ => return None,
        }
    }
    if mantissa > EXACT_MANTISSA {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53: exact")]
    let mantissa = mantissa as f64;
    let power = *EXACT_POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
    let value = if exponent < 0 { mantissa / power } else { mantissa * power };
    Some(if negative { -value } else { value })
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    let value = i32::try_from(parse_unsigned(digits)?).ok().filter(|&value| value < 10_000)?;
    Some(if negative { -value } else { value })
}

fn parse_any(text: &[u8]) -> f64 {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.first() {
        Some(b'N') => f64::NAN,
        Some(b'I') => f64::INFINITY,
        // A scanned number is always one for the standard library too.
        _ => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(f64::NAN),
    };
    if negative { -value } else { value }
}

/// Appends `value`.
pub(crate) fn write_unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `value`.
pub(crate) fn write_signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `value`; `NaN`, `Infinity` and `-Infinity` as words.
pub(crate) fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value < 0.0 { b"-Infinity" } else { b"Infinity" });
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(value).as_bytes();
    match shortest.iter().position(|&byte| byte == b'e') {
        None => out.extend_from_slice(shortest),
        Some(at) => lay_out(out, &shortest[..at], &shortest[at + 1..]),
    }
}

/// Longest number of digits before the point that is written without an exponent.
const WHOLE_DIGITS_MAX: i32 = 21;
/// The first digit may stand this far behind the point without an exponent.
const FRACTION_ZEROS_MAX: i32 = 6;

/// Lays `mantissa` e `exponent` out. `mantissa` is a digit, perhaps a point and more digits.
fn lay_out(out: &mut Vec<u8>, mantissa: &[u8], exponent: &[u8]) {
    let (sign, mantissa) = match mantissa.strip_prefix(b"-") {
        Some(rest) => (&b"-"[..], rest),
        None => (&b""[..], mantissa),
    };
    out.extend_from_slice(sign);
    let power = parse_exponent(exponent).unwrap_or(0);
    let mut digits = mantissa.to_vec();
    digits.retain(u8::is_ascii_digit);
    let count = i32::try_from(digits.len()).unwrap_or(0);
    // Digits before the point.
    let whole = power + 1;
    if (1..=WHOLE_DIGITS_MAX).contains(&whole) {
        let zeros = usize::try_from(whole - count).unwrap_or(0);
        let (before, after) = digits.split_at(digits.len().min(usize::try_from(whole).unwrap_or(0)));
        out.extend_from_slice(before);
        out.resize(out.len() + zeros, b'0');
        out.push(b'.');
        out.extend_from_slice(if after.is_empty() { b"0" } else { after });
    } else if -FRACTION_ZEROS_MAX < whole && whole <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + usize::try_from(-whole).unwrap_or(0), b'0');
        out.extend_from_slice(&digits);
    } else {
        out.extend_from_slice(mantissa);
        out.push(b'e');
        write_signed(out, i64::from(power));
    }
}
