#pragma once

#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/base/export.h>
#include <headrace/training/evaluation/inference.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// A volume whose windows come in the order of its grid.
struct WindowedVolume {
  std::string name = {};  ///< for origins
  WindowGrid grid;
};

struct WindowInferenceOptions {
  WindowWeights weights = {};
  /// Axes (0 is z, 2 is x) along which windows are mirrored: scores are the mean over all 2^n ways.
  std::vector<std::int64_t> mirror = {};
  /// Sums of scores and weights that need more are kept on the host.
  std::size_t most_device_bytes = std::numeric_limits<std::size_t>::max();
};

/// Puts windows together: rows of batches are the windows of these volumes, one volume after the
/// other, each in its grid's order, whatever the batches. A case is a volume: scores float `[1,
/// classes, Z, Y, X]`, the mean of those of all windows that cover a voxel, by their weights; of
/// each target `[N, Z, Y, X]` the volume's, `[1, Z, Y, X]`. The same bits for any batch where
/// a network gives a window the same scores in every batch. A volume of which a window could not be
/// read is absent. Holds the sums of one volume.
/// Throws `DataError` for rows of another order or more than the grids have; `finish()` for fewer.
class HEADRACE_API WindowInference final : public Inference {
 public:
  WindowInference(std::shared_ptr<const std::vector<WindowedVolume>> volumes,
                  WindowInferenceOptions options);
  ~WindowInference() override;

  std::vector<Cases> add(Example example, const Batch& batch, const Predict& predict) override;
  std::vector<Cases> finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1::training
