#pragma once

#include <headrace/monitor/advice/detail/rule_parts.h>

/// The functions of advice_rules(), by their numbers there. Each gives nothing where its condition
/// does not hold or a fact that it needs is absent.
namespace headrace::inline v1::monitor::detail {

// rules_input.cpp, rules_storage.cpp
RuleAdvice raise_concurrency(const RunFacts& facts, const AdviceThresholds& limits);  // 2
RuleAdvice cheaper_work(const RunFacts& facts, const AdviceThresholds& limits);       // 3
RuleAdvice slow_storage(const RunFacts& facts, const AdviceThresholds& limits);       // 4
RuleAdvice cold_pages(const RunFacts& facts, const AdviceThresholds& limits);         // 5
RuleAdvice chunk_shape(const RunFacts& facts, const AdviceThresholds& limits);        // 6
RuleAdvice slow_sample(const RunFacts& facts, const AdviceThresholds& limits);        // 11
RuleAdvice variable_cost(const RunFacts& facts, const AdviceThresholds& limits);      // 12

// rules_device.cpp
RuleAdvice gpu_unused(const RunFacts& facts, const AdviceThresholds& limits);        // 1
RuleAdvice launch_gaps(const RunFacts& facts, const AdviceThresholds& limits);       // 7
RuleAdvice compute_bound(const RunFacts& facts, const AdviceThresholds& limits);     // 8
RuleAdvice exposed_copies(const RunFacts& facts, const AdviceThresholds& limits);    // 10
RuleAdvice throttled_clocks(const RunFacts& facts, const AdviceThresholds& limits);  // 18

// rules_machine.cpp
RuleAdvice noisy_loader(const RunFacts& facts, const AdviceThresholds& limits);    // 9
RuleAdvice shared_machine(const RunFacts& facts, const AdviceThresholds& limits);  // 19
RuleAdvice small_limits(const RunFacts& facts, const AdviceThresholds& limits);    // 20
RuleAdvice straggler(const RunFacts& facts, const AdviceThresholds& limits);       // 24

// rules_memory.cpp
RuleAdvice process_grows(const RunFacts& facts, const AdviceThresholds& limits);     // 13
RuleAdvice tensors_grow(const RunFacts& facts, const AdviceThresholds& limits);      // 14
RuleAdvice memory_in_pieces(const RunFacts& facts, const AdviceThresholds& limits);  // 15
RuleAdvice gpu_memory(const RunFacts& facts, const AdviceThresholds& limits);        // 16
RuleAdvice memory_forecast(const RunFacts& facts, const AdviceThresholds& limits);   // 17

// rules_run.cpp
RuleAdvice no_batch(const RunFacts& facts, const AdviceThresholds& limits);        // 21
RuleAdvice majority_class(const RunFacts& facts, const AdviceThresholds& limits);  // 22
RuleAdvice time_budget(const RunFacts& facts, const AdviceThresholds& limits);     // 23

}  // namespace headrace::inline v1::monitor::detail
