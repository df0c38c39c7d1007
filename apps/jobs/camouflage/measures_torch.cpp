#include <headrace/apps/jobs/camouflage/measures_torch.h>
#include <headrace/apps/run/parallel_for.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/models/metrics/bootstrap.h>
#include <headrace/models/networks/expert_mixture.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

constexpr double share_of_interval = 0.95;
constexpr std::int64_t pixels_at_once = 1 << 24;  // of 30 bytes each

std::string sides(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

ObjectMask mask_of(const at::Tensor& target) {
  const at::Tensor there = (target > 0.5).to(at::kByte).contiguous();
  const auto* pixels = there.const_data_ptr<std::uint8_t>();
  return {.height = there.size(-2),
          .width = there.size(-1),
          .pixels = {pixels, pixels + there.numel()}};
}

// Scores [height, width], bilinearly.
at::Tensor at_size(const at::Tensor& scores, at::IntArrayRef size) {
  if (scores.sizes() == size) return scores;
  return at::upsample_bilinear2d(scores.unsqueeze(0).unsqueeze(0), size, /*align_corners=*/false)
      .squeeze(0)
      .squeeze(0)
      .contiguous();
}

}  // namespace

struct MaskMeasures::Picture {
  std::int64_t number = 0;
  bool own_size = false;
  at::Tensor scores{};  // [height, width] float, on the CPU
  ObjectMask mask{};    // of pictures whose own sizes are not known
};

models::SaliencyMeasures MaskMeasures::measured(const Picture& picture) const {
  const ObjectMask mask = picture.own_size ? options_.own_mask(picture.number) : picture.mask;
  const auto height = picture.scores.size(0);
  const auto width = picture.scores.size(1);
  if (mask.height != height || mask.width != width)
    throw DataError("[measures] the mask of picture " + std::to_string(picture.number) +
                    " must have its picture's size, " + sides(height, width) + ", got " +
                    sides(mask.height, mask.width));
  const at::Tensor finite = picture.scores.nan_to_num(0.0, 1.0, 0.0);
  const std::span<const float> scores(finite.const_data_ptr<float>(), mask.pixels.size());
  const models::SaliencyPair stretched(scores, mask.pixels, {.height = height, .width = width},
                                       models::SaliencyRange::min_max);
  models::SaliencyMeasures measures = models::saliency_measures(stretched);
  models::MarkedPixels found;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= static_cast<float>(options_.threshold))
      ++(mask.pixels[i] != 0 ? found.object : found.rest);
  measures.overlap = models::mask_overlap(found, stretched.object_pixels());
  return measures;
}

void MaskMeasures::add(const training::Cases& cases) {
  const at::Tensor scores = cases.scores.to(at::kCPU, at::kFloat).contiguous();
  const at::Tensor& sizes = cases.example.picture_sizes;
  const bool own = sizes.defined() && options_.own_mask;
  const at::Tensor own_sizes = own ? sizes.to(at::kCPU).contiguous() : at::Tensor();
  const at::Tensor targets =
      own ? at::Tensor() : training::only(cases.example.targets, "target").to(at::kCPU);
  const at::Tensor present =
      cases.example.present.defined() ? cases.example.present.to(at::kCPU) : at::Tensor();
  const auto at_once = static_cast<std::size_t>(headrace::usable_cores());
  models::SaliencyMeans of_batch;
  std::vector<Picture> pictures;
  std::int64_t pixels = 0;
  const auto measure = [&] {
    std::vector<models::SaliencyMeasures> made(pictures.size());
    parallel_for(pictures.size(), headrace::usable_cores(),
                 [&](std::size_t i) { made[i] = measured(pictures[i]); });
    for (std::size_t i = 0; i < pictures.size(); ++i)
      of_batch.add(pictures[i].number, made[i]);
    pictures.clear();
    pixels = 0;
  };
  for (std::int64_t row = 0; row < scores.size(0); ++row) {
    if (present.defined() && !present[row].item<bool>()) continue;
    Picture picture{.number = cases.first + row, .own_size = own, .scores = scores[row][0]};
    if (own)
      picture.scores =
          at_size(picture.scores, {own_sizes.const_data_ptr<std::int64_t>() + 2 * row, 2});
    else
      picture.mask = mask_of(targets[row]);
    pixels += picture.scores.numel();
    pictures.push_back(std::move(picture));
    if (pictures.size() == at_once || pixels >= pixels_at_once) measure();
  }
  measure();
  means_.add(of_batch);
}

std::optional<double> MaskMeasures::lower_bound() const {
  std::vector<double> values;
  std::vector<std::int64_t> groups;
  for (const auto& [number, measures] : means_.by_picture()) {
    if (number >= std::ssize(options_.groups)) return std::nullopt;
    values.push_back(measures.overlap.iou);
    groups.push_back(options_.groups[static_cast<std::size_t>(number)]);
  }
  if (std::set<std::int64_t>(groups.begin(), groups.end()).size() < 2) return std::nullopt;
  return models::bootstrap_lower_bound(values, groups, {.share = share_of_interval}).lower;
}

training::Figures MaskMeasures::result() {
  const models::SaliencyFigures all = means_.figures();
  training::Figures figures{{"iou", all.iou}};
  if (const std::optional<double> low = lower_bound()) figures.emplace_back("iou_low", *low);
  figures.insert(figures.end(), {{"dice", all.dice},
                                 {"mae", all.mae},
                                 {"s_measure", all.s_measure},
                                 {"e_mean", all.e_mean},
                                 {"e_max", all.e_max},
                                 {"e_adaptive", all.e_adaptive},
                                 {"f_mean", all.f_mean},
                                 {"f_max", all.f_max},
                                 {"f_adaptive", all.f_adaptive},
                                 {"weighted_f", all.weighted_f}});
  return figures;
}

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
