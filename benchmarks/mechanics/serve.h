#pragma once

#include <headrace/benchmarks/mechanics/trainee.h>

#include <string>

namespace headrace::inline v1::bench {

/// What a peer is asked for: "bf16 channels-last 20" is the rate of 20 such steps.
std::string rate_request(const Setting& setting, int steps);
/// Its answer to this is how many parameters its network has.
constexpr const char* parameters_request = "parameters";
/// How an answer begins that has no figure, but a reason.
constexpr const char* no_figure = "missing: ";

/// Answers such lines of standard input until it ends. Steps are under cudnn_benchmark: LibTorch
/// keeps the algorithm that it took first for a convolution, tried or not, so that a process shows
/// one or the other.
void serve(const Workload& workload);

}  // namespace headrace::inline v1::bench
