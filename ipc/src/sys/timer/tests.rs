//! It expires when it should, once, and not when it was set anew.

use super::*;
use std::{future::poll_fn, time::Instant};

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn it_never_expires_early_and_only_once() {
    block_on(async {
        let timer = Timer::new().unwrap();
        let begun = Instant::now();
        timer.set(Duration::from_micros(300)).unwrap();
        poll_fn(|cx| timer.poll_expired(cx)).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_micros(300));
        let again = poll_fn(|cx| Poll::Ready(timer.poll_expired(cx).is_pending())).await;
        assert!(again);
    });
}

#[test]
fn setting_it_anew_forgets_the_old_time() {
    block_on(async {
        let timer = Timer::new().unwrap();
        timer.set(Duration::from_secs(3600)).unwrap();
        timer.set(Duration::ZERO).unwrap();
        poll_fn(|cx| timer.poll_expired(cx)).await.unwrap();
    });
}
