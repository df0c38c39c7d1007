#pragma once

#include <headrace/apps/task/clean_labels.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/apps/task/volume_settings.h>
#include <headrace/training/example.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace::inline v1::app {

/// What is known of a task on volumes whose weights predict.
struct VolumeTask {
  VolumeSettings volume{};
  VolumePredictSettings predict{};
  std::size_t channels = 1;  ///< of each case
  std::int64_t classes = 2;  ///< the background among them
  std::optional<std::int64_t> ignore{};
  int threads = 1;
  bool follow_links = false;  ///< TaskData::follow_links
};

/// What a recipe offers, beside what all recipes do, where its predictions are whole volumes: the
/// command `predict` asks for it. Its cases' scores are those of `WindowInference`, on the grid of
/// the prepared case.
class VolumePredictor {
 public:
  VolumePredictor() = default;
  VolumePredictor(const VolumePredictor&) = delete;
  VolumePredictor& operator=(const VolumePredictor&) = delete;
  virtual ~VolumePredictor() = default;

  virtual VolumeTask volume_task() const = 0;
  /// How scores become labels, by what the validation of each member has fitted, which may be
  /// nothing. Default: as `predict` says.
  virtual VolumeDecision decision(std::span<const training::TensorMap> /*fitted*/) const {
    return decision_of(volume_task().predict);
  }
  /// Makes prepared cases the test of the courses that begin from now on, and gives their numbers
  /// for `Member::test`.
  virtual std::vector<std::int64_t> test_on(VolumeSet set) = 0;
};

}  // namespace headrace::inline v1::app
