#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace headrace::inline v1::training {

/// What a course makes of an example: a forward pass, and the scores of its output.
struct Prediction {
  Output output = {};
  at::Tensor scores = {};
};
using Predict = std::function<Prediction(const Example& example)>;

/// Makes whole cases of the batches of an evaluation or a prediction. One for each pass over the
/// data, used by the thread that evaluates.
class HEADRACE_API Inference {
 public:
  Inference() = default;
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  virtual ~Inference() = default;

  /// An example and the batch that it was made of, which says where its rows came from; gives the
  /// cases that are complete with it, in their order. Where it throws it must keep nothing of the
  /// example: after a lack of memory the same rows come again, fewer at once.
  virtual std::vector<Cases> add(Example example, const Batch& batch, const Predict& predict) = 0;
  /// Behind the last batch; gives the cases that are still open.
  virtual std::vector<Cases> finish() { return {}; }
};

/// Each row of a batch is a case, by one forward pass.
class HEADRACE_API PlainInference final : public Inference {
 public:
  std::vector<Cases> add(Example example, const Batch& batch, const Predict& predict) override;
};

/// Each row is a case whose scores are the mean over the input as it is and flipped along each of
/// `axes` in turn (3 is the width of `[N, C, H, W]`). Scores that turn with the input, those of
/// pixels, are flipped back; those of a classifier do not. `output` is of the input as it is.
class HEADRACE_API FlipInference final : public Inference {
 public:
  explicit FlipInference(std::vector<std::int64_t> axes, bool scores_turn = false)
      : axes_(std::move(axes)), scores_turn_(scores_turn) {}
  std::vector<Cases> add(Example example, const Batch& batch, const Predict& predict) override;

 private:
  std::vector<std::int64_t> axes_;
  bool scores_turn_;
};

}  // namespace headrace::inline v1::training
