// Figures of recordings of which not all could be read.
#include <headrace/apps/jobs/leak/metric_torch.h>

#include "../../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace;

namespace {

// Two segments each; the scores of a leak, segment by segment.
app::LeakFile file_of(std::vector<std::uint8_t> labels) {
  return {.longs = 1, .shorts = 2, .labels = std::move(labels)};
}

training::Cases cases_of(const std::vector<float>& leaks, const std::vector<std::uint8_t>& labels,
                         const std::vector<std::int64_t>& unread) {
  const at::Tensor leak = at::tensor(leaks);
  const auto segments = static_cast<std::int64_t>(leaks.size());
  training::Cases cases{.scores = at::stack({1.0 - leak, leak}, 1), .are_rows = true};
  std::vector<std::int64_t> targets;
  for (const std::uint8_t label : labels)
    targets.insert(targets.end(), 2, label);
  cases.example.targets.emplace("target", at::tensor(targets));
  cases.example.rows = segments - static_cast<std::int64_t>(unread.size());
  cases.unread = unread;
  if (unread.empty()) return cases;
  cases.example.present = at::ones({segments}, at::kBool);
  for (const std::int64_t row : unread)
    cases.example.present[row] = false;
  return cases;
}

training::Figures figures_of(app::LeakMetric& metric, const training::Cases& cases) {
  metric.add(cases);
  return metric.result();
}

}  // namespace

TEST_CASE("a recording of which a segment could not be read is in no figure and no threshold") {
  const std::vector<std::uint8_t> labels{1, 0, 1, 0};
  const std::vector<float> leaks{0.9F, 0.8F, 0.1F, 0.0F, 0.7F, 0.6F, 0.3F, 0.2F};
  app::LeakMetric some(file_of(labels), {});
  const training::Figures found = figures_of(some, cases_of(leaks, labels, {3}));
  app::LeakMetric others(file_of({1, 1, 0}), {});
  const training::Figures wanted =
      figures_of(others, cases_of({0.9F, 0.8F, 0.7F, 0.6F, 0.3F, 0.2F}, {1, 1, 0}, {}));
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(found[i].first);
    CHECK(found[i].first == wanted[i].first);
    if (found[i].first == "accuracy") continue;  // of segments, of which three are there
    CHECK(found[i].second == doctest::Approx(wanted[i].second));
  }
  CHECK(some.fitted().at("threshold").item<double>() ==
        others.fitted().at("threshold").item<double>());
}

TEST_CASE("where no recording could be read figures are no numbers") {
  app::LeakMetric metric(file_of({1}), {});
  const training::Figures found = figures_of(metric, cases_of({0.5F, 0.5F}, {1}, {0, 1}));
  CHECK(std::isnan(training::figure(found, "f1")));
}
