#include <headrace/apps/jobs/retinopathy/pair_course_torch.h>
#include <headrace/apps/jobs/retinopathy/pair_metric_torch.h>

#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

PictureCourse::Parts of_label(PictureCourse::Parts parts) {
  parts.outputs = 1;
  parts.loss.target = "label";
  return parts;
}

}  // namespace

PairCourse::PairCourse(Parts all, const models::ClassPair& pair,
                       const std::vector<std::string>& classes, bool sees_others)
    : PictureCourse(of_label(std::move(all))),
      pair_(pair),
      names_{classes.at(static_cast<std::size_t>(pair.first)),
             classes.at(static_cast<std::size_t>(pair.second))},
      sees_others_(sees_others),
      unpack_(unpack_of(parts(), "label", static_cast<std::int64_t>(classes.size()))) {}

training::Example PairCourse::example(const Batch& batch, const training::Moment& moment) const {
  training::Example example = unpack_(batch, moment.device);
  const auto label = example.targets.find("label");
  if (label == example.targets.end()) return example;
  const at::Tensor grade = label->second;
  if (grade.dim() == 2) {  // mixed, of records of the pair
    label->second = grade.narrow(1, pair_.second, 1);
    return example;
  }
  const at::Tensor of_pair =
      at::where(grade == pair_.second, 1.0, at::where(grade == pair_.first, 0.0, -1.0));
  label->second = of_pair.to(at::kFloat).unsqueeze(1);
  if (moment.training) return example;
  example.targets.emplace(grade_target, grade);
  if (!sees_others_) return example;
  const at::Tensor inside = of_pair >= 0.0;
  example.present = example.present.defined() ? example.present & inside : inside;
  example.rows.reset();
  return example;
}

at::Tensor PairCourse::scores(const training::Output& output) const {
  const at::Tensor second = output.main.to(at::kFloat).sigmoid();
  return at::cat({1.0 - second, second}, 1);
}

std::unique_ptr<training::Metric> PairCourse::metric(training::Split split,
                                                     const training::TensorMap&) const {
  return std::make_unique<PairMetric>(split == training::Split::validation);
}

}  // namespace headrace::inline v1::app
