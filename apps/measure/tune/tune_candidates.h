#pragma once

#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/measure/record_bytes.h>
#include <headrace/apps/measure/whole_configuration.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a tuned configuration may use, and change.
struct TuneBudget {
  int cores = 1;             ///< that the run may use
  std::uint64_t memory = 0;  ///< bytes that the process may hold
  // What changes what is learnt:
  bool batch = false;   ///< the batch may change
  bool decode = false;  ///< a GPU may decode, whose pixels are others
};

/// A key that is changed.
struct KeyChange {
  std::string key{};
  std::string old_value{};
  std::string new_value{};
};

/// A change that may help.
struct TuneCandidate {
  KeyChange change{};
  double predicted = 0.0;  ///< samples/s
  bool explores = false;   ///< the model does not see what it does; tried last
};

/// What the model goes by: the configuration at hand and its pace.
struct TunePoint {
  const WholeConfiguration& configuration;
  const PaceResult& pace;
  double device_per_s = 0.0;  ///< samples/s of the step or consumer alone; 0: unknown
  RecordBytes bytes{};
};

/// Changes of one key each that may raise the pace under the budget, most promising first. What a
/// kind has no key for is not there. Predictions are those of PaceModel.
std::vector<TuneCandidate> tune_candidates(const TunePoint& point, const TuneBudget& budget);

}  // namespace headrace::inline v1::app
