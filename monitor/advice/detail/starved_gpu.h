#pragma once

#include <headrace/monitor/advice/detail/rule_parts.h>

#include <vector>

namespace headrace::inline v1::monitor::detail {

/// Where the GPU is starved: the advice among `all` that explains it becomes a warning that says so
/// and which of batch, workers, prefetch, storage, launch gaps and CPU contention is the cause, and
/// why the others are not, with their values. Where none explains it, one is added that says what
/// is not the cause and how to find out, but for one that is `explained` by what is not yet said.
void explain_starved_gpu(const RunFacts& facts, const AdviceThresholds& limits, bool explained,
                         std::vector<Advice>& all);

/// Whether the GPU is starved and one among `all` explains it.
bool explains_starved_gpu(const RunFacts& facts, const AdviceThresholds& limits,
                          const std::vector<Advice>& all);

}  // namespace headrace::inline v1::monitor::detail
