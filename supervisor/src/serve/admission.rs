//! How much the server takes on at once. Beyond the limit a request is refused at once, never queued.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nereid_core::error::ServeError;

/// The bytes of all requests that are being served, and of replies that were copied for slow clients, bounded by
/// `--max-inflight-bytes`.
#[derive(Debug)]
pub struct Admission {
    bytes: AtomicU64,
    bytes_max: u64,
}

/// A share of the bytes in flight, given back on drop.
#[derive(Debug)]
pub struct InflightBytes {
    admission: Arc<Admission>,
    bytes: u64,
}

impl Admission {
    #[must_use]
    pub fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicU64::new(0), bytes_max })
    }

    /// Takes a request of that many bytes on, or refuses it.
    pub fn admit(self: &Arc<Self>, bytes: u64) -> Result<InflightBytes, ServeError> {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.bytes_max);
        match self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(InflightBytes { admission: Arc::clone(self), bytes }),
            Err(used) => Err(ServeError::unavailable(format!(
                "{bytes} bytes exceed the limit of {} bytes in flight, of which {used} are in use; send it again later \
                 or raise --max-inflight-bytes",
                self.bytes_max
            ))),
        }
    }

    /// Bytes of the requests that are being served now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl InflightBytes {
    /// Takes on that many bytes more for the same request: of its reply, while a client is slow to read it.
    pub fn more(&self, bytes: u64) -> Result<Self, ServeError> {
        self.admission.admit(bytes)
    }
}

impl Drop for InflightBytes {
    fn drop(&mut self) {
        self.admission.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_limit_is_refused_and_leaves_nothing_behind() {
        let admission = Admission::new(10);
        let first = admission.admit(6).unwrap();
        assert!(admission.admit(5).unwrap_err().message.contains("--max-inflight-bytes"));
        assert_eq!(admission.bytes(), 6);
        let second = admission.admit(4).unwrap();
        drop((first, second));
        assert_eq!(admission.bytes(), 0);
    }
}
