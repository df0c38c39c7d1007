#include <headrace/monitor/detail/contradictions.h>

#include <algorithm>
#include <string_view>

namespace headrace::inline v1::monitor::detail {
namespace {

struct Contradiction {
  std::string_view fundamental;
  std::vector<std::string_view> others;
  Severity from = Severity::info;  // a milder one contradicts nothing
};

constexpr std::string_view raise_threads_rule = "raise-threads";
constexpr std::string_view raise_io_rule = "raise-io-threads";
constexpr std::string_view raise_limit_rule = "raise-limit";
constexpr std::string_view raise_prefetch_rule = "raise-prefetch";
constexpr std::string_view cheaper_step_rule = "cheaper-step";
constexpr std::string_view faster_storage_rule = "faster-storage";

// By fundamental: what never starts; what runs on the wrong device; what is outside the run; what
// is wrong with the data as they lie; what is wrong with one sample; then the loader's settings.
const std::vector<Contradiction> contradictions{
    Contradiction{"no-batch",
                  {"memory-forecast", "gpu-unused", raise_threads_rule, raise_io_rule,
                   raise_limit_rule, raise_prefetch_rule, cheaper_step_rule, faster_storage_rule,
                   "launch-gaps", "time-budget"}},
    Contradiction{
        "gpu-unused",
        {raise_threads_rule, raise_io_rule, raise_limit_rule, raise_prefetch_rule,
         cheaper_step_rule, faster_storage_rule, "launch-gaps", "compute-bound", "noisy-loader",
         "exposed-copies", "smaller-transfer", "gpu-memory-free", "throttled", "time-budget"}},
    // The GPU has nothing to gain from the input.
    Contradiction{
        "compute-bound",
        {raise_threads_rule, raise_io_rule, raise_limit_rule, raise_prefetch_rule,
         cheaper_step_rule, faster_storage_rule, "cold-pages", "slow-sample", "variable-cost",
         "exposed-copies", "smaller-transfer", "noisy-loader", "gpu-memory-free"}},
    Contradiction{
        "cpu-shared", {raise_threads_rule, cheaper_step_rule, "noisy-loader"}, Severity::warning},
    Contradiction{"chunk-shape",
                  {raise_threads_rule, raise_io_rule, raise_prefetch_rule, cheaper_step_rule,
                   faster_storage_rule, "cold-pages"}},
    Contradiction{"cold-pages", {faster_storage_rule, raise_io_rule}},
    Contradiction{"slow-sample", {raise_threads_rule, raise_prefetch_rule, "variable-cost"}},
    Contradiction{"noisy-loader", {raise_threads_rule, "launch-gaps", "gpu-memory-free"}},
    Contradiction{"launch-gaps", {"gpu-memory-free"}},
    Contradiction{"gpu-nearly-full", {"gpu-memory-free"}},
    Contradiction{"straggler", {"launch-gaps"}},
    // It says the same, and what of it is felt.
    Contradiction{"exposed-copies", {"locked-limit"}}};

bool is_there(const std::vector<Advice>& all, const Contradiction& one) {
  const auto found = std::ranges::find(all, one.fundamental, &Advice::rule);
  return found != all.end() && found->severity >= one.from;
}

}  // namespace

void drop_contradicted(std::vector<Advice>& all) {
  for (const Contradiction& one : contradictions) {
    if (!is_there(all, one)) continue;
    std::erase_if(all, [&](const Advice& advice) {
      return std::ranges::find(one.others, advice.rule) != one.others.end();
    });
  }
}

}  // namespace headrace::inline v1::monitor::detail
