use super::*;

#[test]
fn each_cause_reads_after_the_name_of_a_worker() {
    let words = [
        (ExitCause::Code(3), "exited with code 3"),
        (ExitCause::Signal(9), "was killed by signal 9 (SIGKILL)"),
        (ExitCause::Signal(11), "was killed by signal 11 (SIGSEGV)"),
        (ExitCause::Signal(42), "was killed by signal 42"),
        (ExitCause::OutOfMemory, "was killed by the kernel because its memory ran out"),
        (
            ExitCause::KilledBy("no progress for 5s".to_owned()),
            "was killed by the supervisor: no progress for 5s",
        ),
        (
            ExitCause::ProtocolError("sent garbage".to_owned()),
            "was killed by the supervisor because it sent garbage",
        ),
        (ExitCause::Hung("did not answer for 10s".to_owned()), "did not answer for 10s"),
        (ExitCause::Operator, "was killed on an operator's request"),
        (ExitCause::HandshakeTimeout(Duration::from_secs(30)), "did not report within 30s of its start"),
        (ExitCause::LoadTimeout(Duration::from_millis(1500)), "did not load the model within 1.5s"),
        (ExitCause::LoadFailed("no file".to_owned()), "failed to load the model: no file"),
        (ExitCause::NotStarted("no program".to_owned()), "could not be started: no program"),
        (ExitCause::Undead(Duration::from_secs(10)), "still exists 10s after SIGKILL"),
    ];
    for (cause, text) in words {
        assert_eq!(cause.to_string(), text);
    }
}

#[test]
fn a_failed_load_says_what_the_worker_did_and_the_model_in_its_own_words() {
    assert_eq!(ExitCause::LoadFailed("no file".to_owned()).as_load_failure(), "no file");
    assert_eq!(
        ExitCause::Signal(6).as_load_failure(),
        "worker was killed by signal 6 (SIGABRT) while loading the model"
    );
    assert_eq!(
        ExitCause::LoadTimeout(Duration::from_secs(2)).as_load_failure(),
        "worker did not load the model within 2s"
    );
}
