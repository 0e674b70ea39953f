//! A server behind the frontends that exists only in tests.
