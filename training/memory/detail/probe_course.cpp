#include <headrace/engine/base/error.h>
#include <headrace/training/memory/detail/probe_course.h>
#include <headrace/training/memory/tensor_memory.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace headrace::inline v1::training::detail {

namespace {

class ProbeMetric final : public Metric {
 public:
  // `kept` may be null.
  ProbeMetric(std::unique_ptr<Metric> metric, std::set<std::string> figures,
              std::shared_ptr<KeptOfBatches> kept)
      : metric_(std::move(metric)), figures_(std::move(figures)), kept_(std::move(kept)) {}

  void add(const Cases& cases) override {
    if (!metric_) return;
    const std::uint64_t before = kept_ ? tensor_memory(kept_->device).allocated : 0;
    metric_->add(cases);
    if (!kept_ || std::exchange(first_, false)) return;
    const std::uint64_t after = tensor_memory(kept_->device).allocated;
    kept_->bytes += after - std::min(after, before);
    ++kept_->batches;
  }
  Figures result() override {
    Figures figures;
    for (const std::string& name : figures_)
      figures.emplace_back(name, 0.0);
    return figures;
  }

 private:
  std::unique_ptr<Metric> metric_;
  std::set<std::string> figures_;
  std::shared_ptr<KeptOfBatches> kept_;
  bool first_ = true;
};

// Of placeholders there may be more or fewer than an inference that puts cases together waits for.
class ProbeInference final : public Inference {
 public:
  explicit ProbeInference(std::unique_ptr<Inference> inference)
      : inference_(std::move(inference)) {}

  std::vector<Cases> add(Example example, const Batch& batch, const Predict& predict) override {
    try {
      return inference_->add(example, batch, predict);
    } catch (const DataError&) {
      predict(example);
      return {};
    }
  }
  std::vector<Cases> finish() override {
    try {
      return inference_->finish();
    } catch (const DataError&) {
      return {};
    }
  }

 private:
  std::unique_ptr<Inference> inference_;
};

}  // namespace

Example ProbeCourse::example(const Batch& batch, const Moment& moment) const {
  Example example = course_.example(batch, moment);
  example.picture_sizes.reset();
  return example;
}

std::unique_ptr<Inference> ProbeCourse::inference(Split split) const {
  return std::make_unique<ProbeInference>(course_.inference(split));
}

std::unique_ptr<Metric> ProbeCourse::metric(Split split, const TensorMap& fitted) const {
  std::set<std::string> figures{selected_by().figure};
  if (const auto* plateau = std::get_if<PlateauOptions>(&stage_.schedule))
    figures.insert(plateau->figure);
  figures.erase("loss");  // which every evaluation has
  return std::make_unique<ProbeMetric>(course_.metric(split, fitted), std::move(figures),
                                       split == Split::train ? nullptr : kept_);
}

}  // namespace headrace::inline v1::training::detail
