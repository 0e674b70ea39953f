use super::*;

const TOTAL: Duration = Duration::from_nanos(100);
const QUEUE: Duration = Duration::from_nanos(10);

fn compute() -> ComputeTime {
    ComputeTime {
        input: Duration::from_nanos(1),
        infer: Duration::from_nanos(2),
        output: Duration::from_nanos(3),
    }
}

fn ended(stats: &VersionStats) -> u64 {
    stats.inference().success.count + stats.inference().fail.count
}

#[test]
fn a_success_counts_its_rows_and_its_times() {
    let mut stats = VersionStats::default();
    stats.record_success(3, TOTAL, QUEUE, compute());
    stats.record_success(0, TOTAL, QUEUE, compute());
    assert_eq!(stats.inference_count(), 4, "a request without a batch dimension is one row");
    let inference = stats.inference();
    assert_eq!(inference.success, Tally { count: 2, ns: 200 });
    assert_eq!(inference.queue, Tally { count: 2, ns: 20 });
    assert_eq!(inference.compute_input, Tally { count: 2, ns: 2 });
    assert_eq!(inference.compute_infer, Tally { count: 2, ns: 4 });
    assert_eq!(inference.compute_output, Tally { count: 2, ns: 6 });
    assert_eq!(stats.execution_count(), 0, "batches are counted apart");
}

#[test]
fn an_execution_counts_once_and_under_its_size() {
    let mut stats = VersionStats::default();
    stats.record_execution(4, compute(), 1000);
    stats.record_execution(1, compute(), 3000);
    stats.record_execution(4, compute(), 2000);
    assert_eq!(stats.execution_count(), 3);
    assert_eq!(stats.last_inference_ms(), 3000, "the wall clock may go back, this does not");
    let sizes: Vec<_> = stats.batches().map(|(rows, batch)| (rows, batch.compute_infer)).collect();
    assert_eq!(sizes, [(1, Tally { count: 1, ns: 2 }), (4, Tally { count: 2, ns: 4 })]);
    assert_eq!(ended(&stats), 0);
}

#[test]
fn each_end_of_a_request_moves_exactly_one_counter() {
    let mut stats = VersionStats::default();
    stats.record_success(1, TOTAL, QUEUE, compute());
    assert_eq!(ended(&stats), 1);
    stats.record_cached_success(TOTAL, QUEUE, QUEUE);
    assert_eq!(ended(&stats), 2);
    for (already, reason) in (2..).zip(FailureReason::ALL) {
        stats.record_failure(reason, TOTAL);
        assert_eq!(ended(&stats), already + 1);
        assert_eq!(stats.failures(reason), 1);
    }
    let by_reason: u64 = FailureReason::ALL.iter().map(|&reason| stats.failures(reason)).sum();
    assert_eq!(by_reason, stats.inference().fail.count);
    stats.record_cache_miss(QUEUE);
    stats.record_execution(1, compute(), 1);
    assert_eq!(ended(&stats), 6, "a miss and an execution end nothing");
}

#[test]
fn a_cached_success_is_no_inference_and_computes_nothing() {
    let mut stats = VersionStats::default();
    stats.record_success(1, TOTAL, QUEUE, compute());
    stats.record_cached_success(TOTAL, QUEUE, QUEUE);
    let inference = stats.inference();
    assert_eq!(stats.inference_count(), 1);
    assert_eq!(inference.queue.count, inference.success.count);
    assert_eq!(inference.compute_infer.count, inference.success.count - inference.cache_hit.count);
}

#[test]
fn every_reason_to_reject_has_a_reason_to_fail() {
    let reasons = [
        (RejectReason::QueueFull, "REJECTED"),
        (RejectReason::TimedOut, "REJECTED"),
        (RejectReason::Cancelled, "CANCELED"),
        (RejectReason::Stopping, "REJECTED"),
        (RejectReason::Unavailable("gone".into()), "OTHER"),
    ];
    for (reject, label) in reasons {
        assert_eq!(FailureReason::from(&reject).as_str(), label);
    }
}

#[test]
fn a_tally_saturates_instead_of_wrapping() {
    let mut tally = Tally { count: 0, ns: u64::MAX - 1 };
    tally.add(Duration::MAX);
    assert_eq!(tally, Tally { count: 1, ns: u64::MAX });
}

#[test]
fn the_message_says_what_was_counted() {
    let mut stats = VersionStats::default();
    stats.record_success(2, TOTAL, QUEUE, compute());
    stats.record_failure(FailureReason::Backend, TOTAL);
    stats.record_execution(2, compute(), 7);
    let message = stats.to_proto("m", "1");
    assert_eq!((message.name.as_str(), message.version.as_str()), ("m", "1"));
    assert_eq!((message.last_inference, message.inference_count, message.execution_count), (7, 2, 1));
    let inference = message.inference_stats.unwrap();
    assert_eq!(inference.fail.unwrap().ns, 100);
    assert_eq!(inference.compute_output.unwrap().ns, 3);
    assert_eq!(
        inference.cache_hit.unwrap().count,
        0,
        "all of them are present, even when nothing was counted"
    );
    assert_eq!(message.batch_stats.len(), 1);
    assert_eq!(message.batch_stats[0].batch_size, 2);
}
