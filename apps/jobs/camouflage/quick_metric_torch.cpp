#include <headrace/apps/jobs/camouflage/quick_metric_torch.h>
#include <headrace/models/networks/expert_mixture.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* sums_key = "sums";
constexpr const char* load_key = "expert_load";

// From the least to the largest of each row; rows of one value stay as they are.
at::Tensor stretched(const at::Tensor& rows) {
  const at::Tensor least = rows.amin(at::IntArrayRef{1}, /*keepdim=*/true);
  const at::Tensor width = rows.amax(at::IntArrayRef{1}, true) - least;
  return at::where(width > 0.0, (rows - least) / width, rows);
}

at::Tensor share(const at::Tensor& part, const at::Tensor& whole) {
  return at::where(whole > 0.0, part / whole, 0.0);
}

at::Tensor added(const at::Tensor& sum, const at::Tensor& more) {
  return sum.defined() ? sum.to(more.device()) + more : more;
}

// Of the least even level.
double least_evenness(const at::Tensor& load) {
  const at::Tensor levels = load.cpu();
  double least = 1.0;
  for (std::int64_t level = 0; level < levels.size(0); ++level)
    least = std::min(least, models::load_evenness(levels[level]));
  return least;
}

}  // namespace

void QuickMaskMetric::add(const training::Cases& cases) {
  const bool scored = cases.scores.defined();
  const at::Tensor scores =
      (scored ? cases.scores : cases.output.main.to(at::kFloat).sigmoid()).flatten(1);
  const at::Tensor mask = training::only(cases.example.targets, "target").flatten(1) > 0.5;
  const at::Tensor found = scores >= threshold_;
  const auto count = [](const at::Tensor& pixels) {
    return pixels.sum(at::IntArrayRef{1}, false, at::kDouble);
  };
  const at::Tensor both = count(found & mask);
  const at::Tensor sizes = count(found) + count(mask);
  const at::Tensor error =
      (stretched(scores) - mask.to(at::kFloat)).abs().mean(at::IntArrayRef{1}).to(at::kDouble);
  at::Tensor rows = at::stack(
      {share(both, sizes - both), share(2.0 * both, sizes), error, at::ones_like(error)}, 1);
  if (cases.example.present.defined())
    rows = at::where(cases.example.present.unsqueeze(1), rows, 0.0);
  at::Tensor sums = added(sums_, rows.sum(at::IntArrayRef{0}));
  const auto load = cases.output.extra.find(load_key);
  if (!scored && load != cases.output.extra.end())
    load_ = added(load_, load->second.to(at::kDouble));
  sums_ = std::move(sums);
}

training::Figures QuickMaskMetric::result() {
  if (!sums_.defined()) return {};
  const at::Tensor host = sums_.cpu();
  const double* sums = host.const_data_ptr<double>();
  training::Figures figures{
      {"iou", sums[0] / sums[3]}, {"dice", sums[1] / sums[3]}, {"mae", sums[2] / sums[3]}};
  if (load_.defined()) figures.emplace_back("expert_entropy", least_evenness(load_));
  return figures;
}

training::TensorMap QuickMaskMetric::state() const {
  training::TensorMap state;
  if (sums_.defined()) state.emplace(sums_key, sums_);
  if (load_.defined()) state.emplace(load_key, load_);
  return state;
}

void QuickMaskMetric::restore(const training::TensorMap& state) {
  const auto of = [&](const char* key) {
    const auto found = state.find(key);
    return found == state.end() ? at::Tensor() : found->second;
  };
  sums_ = of(sums_key);
  load_ = of(load_key);
}

}  // namespace headrace::inline v1::app
