#include <headrace/apps/jobs/leak/metric_torch.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/models/metrics/area_under_roc.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* threshold = "threshold";
constexpr double usual_threshold = 0.5;

std::vector<float> on_host(const std::vector<at::Tensor>& batches) {
  if (batches.empty()) return {};
  const at::Tensor host = at::cat(batches).to(at::kCPU);
  const float* values = host.const_data_ptr<float>();
  return {values, values + host.numel()};
}

// Areas under the ROC curve over segments and over recordings.
training::Figures areas(std::span<const float> leaks, const LeakFile& file) {
  const auto segments = static_cast<std::size_t>(file.segments());
  std::vector<double> of_recordings(file.labels.size(), 0.0);
  std::vector<std::uint8_t> labels(leaks.size());
  for (std::size_t i = 0; i < leaks.size(); ++i) {
    labels[i] = file.labels[i / segments];
    of_recordings[i / segments] += double{leaks[i]};
  }
  const std::vector<double> of_segments(leaks.begin(), leaks.end());
  return {{"segment_auc", models::area_under_roc(of_segments, labels)},
          {"recording_auc", models::area_under_roc(of_recordings, file.labels)}};
}

// The recordings all of whose segments were heard; of those that could not be read leaks are NaN.
LeakFile heard_whole(LeakFile file, std::vector<float>& leaks) {
  const auto segments = static_cast<std::size_t>(file.segments());
  const std::size_t heard = std::min(leaks.size() / segments, file.labels.size());
  std::size_t whole = 0;
  for (std::size_t i = 0; i < heard; ++i) {
    const auto first = leaks.begin() + static_cast<std::ptrdiff_t>(i * segments);
    const auto end = first + static_cast<std::ptrdiff_t>(segments);
    if (std::any_of(first, end, [](float leak) { return std::isnan(leak); })) continue;
    std::copy(first, end, leaks.begin() + static_cast<std::ptrdiff_t>(whole * segments));
    file.labels[whole++] = file.labels[i];
  }
  file.labels.resize(whole);
  leaks.resize(whole * segments);
  return file;
}

models::LeakDecisions decisions_of(const std::vector<float>& leaks, const LeakFile& file,
                                   std::optional<double> given) {
  if (file.labels.empty()) return {.threshold = given.value_or(usual_threshold)};
  const models::LeakLayout layout{.longs = file.longs, .shorts = file.shorts};
  return given ? models::decide_leaks(leaks, file.labels, layout, *given)
               : models::best_leak_threshold(leaks, file.labels, layout);
}

void append(training::Figures& all, const training::Figures& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::optional<double> leak_threshold(const training::TensorMap& fitted) {
  const auto found = fitted.find(threshold);
  if (found == fitted.end()) return std::nullopt;
  return found->second.item<double>();
}

LeakMetric::LeakMetric(LeakFile file, const training::TensorMap& fitted)
    : file_(std::move(file)), given_(leak_threshold(fitted)), segments_(leak_classes) {}

void LeakMetric::add(const training::Cases& cases) {
  at::Tensor leaks = cases.scores.select(1, 1).contiguous();
  if (!cases.unread.empty())
    leaks = at::where(cases.example.present, leaks, std::numeric_limits<float>::quiet_NaN());
  segments_.add(cases);  // before they are kept: it may find no memory
  leaks_.push_back(leaks);
}

training::Figures LeakMetric::result() {
  std::vector<float> leaks = on_host(leaks_);
  const LeakFile file = heard_whole(file_, leaks);
  const models::LeakDecisions decisions = decisions_of(leaks, file, given_);
  threshold_ = decisions.threshold;
  const auto count = [](std::int64_t number) { return static_cast<double>(number); };
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  training::Figures figures{{"f1", file.labels.empty() ? nothing : decisions.f1()}};
  append(figures, {{"accuracy", training::figure(segments_.result(), "accuracy")},
                   {"recording_accuracy", decisions.accuracy()}});
  append(figures, areas(leaks, file));
  append(figures, {{threshold, threshold_},
                   {"true_positive", count(decisions.true_positive)},
                   {"false_positive", count(decisions.false_positive)},
                   {"false_negative", count(decisions.false_negative)},
                   {"true_negative", count(decisions.true_negative)}});
  return figures;
}

training::TensorMap LeakMetric::fitted() const {
  return {{threshold, at::scalar_tensor(threshold_, at::kDouble)}};
}

}  // namespace headrace::inline v1::app
