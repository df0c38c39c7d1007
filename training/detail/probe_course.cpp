#include <headrace/training/detail/probe_course.h>

#include <set>
#include <string>
#include <variant>

namespace headrace::inline v1::training::detail {

namespace {

class ProbeMetric final : public Metric {
 public:
  ProbeMetric(std::unique_ptr<Metric> metric, std::set<std::string> figures)
      : metric_(std::move(metric)), figures_(std::move(figures)) {}

  void add(const Cases& cases) override {
    if (metric_) metric_->add(cases);
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
};

}  // namespace

Example ProbeCourse::example(const Batch& batch, const Moment& moment) const {
  Example example = course_.example(batch, moment);
  example.picture_sizes.reset();
  return example;
}

std::unique_ptr<Metric> ProbeCourse::metric(Split split, const TensorMap& fitted) const {
  std::set<std::string> figures{selected_by().figure};
  if (const auto* plateau = std::get_if<PlateauOptions>(&stage_.schedule))
    figures.insert(plateau->figure);
  figures.erase("loss");  // which every evaluation has
  return std::make_unique<ProbeMetric>(course_.metric(split, fitted), std::move(figures));
}

}  // namespace headrace::inline v1::training::detail
