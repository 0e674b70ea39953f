use super::*;

fn model(scheduling_choice: Option<SchedulingChoice>) -> inference::ModelConfig {
    inference::ModelConfig { max_batch_size: 8, scheduling_choice, ..Default::default() }
}

fn batching(batching: inference::ModelDynamicBatching) -> inference::ModelConfig {
    model(Some(SchedulingChoice::DynamicBatching(batching)))
}

#[test]
fn a_model_without_a_choice_is_scheduled_directly_with_the_servers_bound() {
    let config = SchedulerConfig::from_model(&model(None), 50);
    assert_eq!(config, SchedulerConfig::direct(LevelPolicy { max_queue_size: 50, ..LevelPolicy::default() }));
}

#[test]
fn empty_dynamic_batching_is_greedy_up_to_the_greatest_size() {
    let config = SchedulerConfig::from_model(&batching(inference::ModelDynamicBatching::default()), 0);
    let batch = BatchPolicy::new(8, [8], Duration::ZERO);
    assert_eq!(config, SchedulerConfig::dynamic(batch, LevelPolicy::default()));
}

#[test]
fn sizes_delay_and_queue_policy_are_taken_over() {
    let policy = inference::ModelQueuePolicy {
        timeout_action: ProtoTimeoutAction::Delay.into(),
        default_timeout_microseconds: 1500,
        allow_timeout_override: true,
        max_queue_size: 9,
    };
    let config = SchedulerConfig::from_model(
        &batching(inference::ModelDynamicBatching {
            preferred_batch_size: vec![4, 2],
            max_queue_delay_microseconds: 100,
            default_queue_policy: Some(policy),
            ..Default::default()
        }),
        50,
    );
    let level = LevelPolicy {
        max_queue_size: 9,
        default_timeout: Duration::from_micros(1500),
        allow_timeout_override: true,
        timeout_action: TimeoutAction::Delay,
    };
    assert_eq!(
        config,
        SchedulerConfig::dynamic(BatchPolicy::new(8, [2, 4], Duration::from_micros(100)), level)
    );
}

#[test]
fn each_priority_level_has_its_own_policy_or_the_default_one() {
    let sized = |max_queue_size| inference::ModelQueuePolicy { max_queue_size, ..Default::default() };
    let config = SchedulerConfig::from_model(
        &batching(inference::ModelDynamicBatching {
            priority_levels: 3,
            default_priority_level: 2,
            default_queue_policy: Some(sized(5)),
            priority_queue_policy: [(1, sized(7))].into(),
            ..Default::default()
        }),
        50,
    );
    let sizes: Vec<_> = config.queue.policies().iter().map(|level| level.max_queue_size).collect();
    assert_eq!(sizes, [7, 5, 5]);
    let levels: Vec<_> = [0, 1, 2, 3, 4, u64::MAX].map(|priority| config.queue.level_of(priority)).to_vec();
    assert_eq!(levels, [1, 0, 1, 2, 1, 1]);
}

#[test]
fn a_configuration_cannot_ask_for_more_levels_than_are_told_apart() {
    let config = SchedulerConfig::from_model(
        &batching(inference::ModelDynamicBatching { priority_levels: u64::MAX, ..Default::default() }),
        0,
    );
    assert_eq!(config.queue.policies().len() as u64, PRIORITY_LEVELS_MAX);
}
