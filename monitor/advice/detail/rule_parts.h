#pragma once

#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/advice/advice_thresholds.h>
#include <headrace/monitor/advice/run_facts.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::monitor::detail {

using RuleAdvice = std::optional<Advice>;

constexpr int most_prefetch = 64;  ///< that is advised

/// Evidence in words with its number: "GPU busy 17 %".
Evidence share_of(std::string name, std::string_view words, double share);
Evidence seconds_of(std::string name, std::string_view words, double seconds);
Evidence bytes_of(std::string name, std::string_view words, std::uint64_t bytes);
Evidence count_of(std::string name, std::string_view words, double count);
Evidence stall_of(const RunFacts& facts);

/// Of what is bytes but reckoned as a number; what is below 0 is 0.
std::uint64_t whole_bytes(double bytes);

/// As a configuration says it, rounded up: "30GiB", "700MiB".
std::string setting_bytes(std::uint64_t bytes);
/// As `ulimit -l` counts.
std::string kibibytes(std::uint64_t bytes);

bool has_key(const SettingFacts& settings, std::string_view key);
/// data.cache of so many bytes, in memory or on a disk, where it needs a folder, too.
void set_cache(bool in_memory, std::uint64_t bytes, Advice& advice);
/// Whether a cache would be accepted once whole pictures are decoded to a size.
bool may_decode_whole(const SettingFacts& settings);
/// image.resize, for the cache behind it: what draws its crop while it decodes has nothing to keep.
void decode_whole(const SettingFacts& settings, Advice& advice);
/// "training.batch", or "batch" of a loader's configuration; words where a stage has its own.
std::string batch_key(const SettingFacts& settings);

/// No batch is larger: what an epoch has, as far as it is known.
std::int64_t most_records(const RunFacts& facts);

/// Whether the verdict could say how much was waited for data.
bool knows_stall(const RunFacts& facts);
bool waits_for_data(const RunFacts& facts, const AdviceThresholds& limits);
/// Of the time that the workers had work, the share in which they were ready to run but without a
/// core, at least; nothing where they are not what is waited for, or the kernel does not tell.
std::optional<double> queued_share(const RunFacts& facts);
/// Whether the loader's threads wait for cores that others have. False where nothing is known of
/// it.
bool loader_lacks_cores(const RunFacts& facts, const AdviceThresholds& limits);
/// Whether they sleep more than they work or wait to: nobody takes cores from one that sleeps.
bool loader_sleeps(const RunFacts& facts, const AdviceThresholds& limits);
/// Of the run's own cores the share that is busy at least: as if all others were, too.
double least_busy_share(const MachineFacts& machine);
/// The GPU's busy share; negative where there is none or it is not told.
double gpu_busy(const RunFacts& facts);
/// The machine's side as the loader's rules look at it.
HostFacts host_facts(const RunFacts& facts);

}  // namespace headrace::inline v1::monitor::detail
