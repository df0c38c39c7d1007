#pragma once

#include <headrace/monitor/advice/advice_thresholds.h>
#include <headrace/monitor/advice/verdict.h>

#include <limits>
#include <optional>
#include <string>

namespace headrace::inline v1::monitor::detail {

constexpr double pace_reserve = 1.1;  ///< advice aims a tenth above what is asked

/// What to change about a loader that holds its consumer back; nothing where there is nothing to
/// gain or no evidence. It is what rules 2, 3, 4 and 10 say: "raise-prefetch", "raise-limit",
/// "raise-threads", "raise-io-threads"; "cheaper-step"; "faster-storage"; "smaller-transfer".
std::optional<Advice> loader_advice(const Verdict& verdict, const LoaderLoad& load,
                                    const HostFacts& host, const AdviceThresholds& thresholds = {});

/// "812 -> 1.64 k samples/s, data stall 31 % -> 2.0 %": with the load as it was and as it would be,
/// at most at a rate of `most`.
std::string predicted_effect(const Verdict& verdict, const LoaderLoad& changed,
                             double most = std::numeric_limits<double>::infinity());

/// The load with another service time of a stage, seconds.
LoaderLoad with_service(LoaderLoad load, const std::string& stage, double service_s);

/// Share of its threads' time that a stage's pool was busy.
double pool_occupancy(const Verdict& verdict, const StageCapacity& stage);

/// Whether its threads are not full, and filling them would give more than making them faster.
bool lacks_reserve(const Verdict& verdict, const StageCapacity& stage,
                   const AdviceThresholds& limits);

}  // namespace headrace::inline v1::monitor::detail
