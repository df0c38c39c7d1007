#include <headrace/engine/base/error.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>
#include <headrace/tests/training/figure_cases.h>
#include <headrace/training/metrics/label_metrics.h>

#include "../support/torch_doctest.h"

using namespace headrace::test;
using namespace headrace::training;
using doctest::Approx;

namespace {

// Four labels, of which the last is never there.
at::Tensor label_truth() {
  at::Tensor target = classes({40, 4}, 2, 17).to(at::kFloat);
  target.select(1, 3).zero_();
  return target;
}

at::Tensor probabilities() {
  at::Tensor p = values({40, 4}, 18).to(at::kFloat).sigmoid();
  p.select(1, 3).div_(4);
  return p;
}

}  // namespace

TEST_CASE("figures of several labels a row are scikit-learn's") {
  MultiLabelMetric metric({.labels = 4});
  for (std::int64_t i = 0; i < 40; i += 9)
    metric.add(evaluated(probabilities().slice(0, i, i + 9), label_truth().slice(0, i, i + 9)));
  const Figures figures = metric.result();
  CHECK(names_of(figures) == "macro_f1 micro_f1 exact_match auc");
  CHECK(figure(figures, "macro_f1") == Approx(reference::label_macro_f1).epsilon(1e-12));
  CHECK(figure(figures, "micro_f1") == Approx(reference::label_micro_f1).epsilon(1e-12));
  CHECK(figure(figures, "exact_match") == Approx(reference::label_exact_match).epsilon(1e-12));
  CHECK(figure(figures, "auc") == Approx(reference::label_auc).epsilon(1e-12));
  CHECK(metric.confusions().size() == 4);
  CHECK(metric.fitted().empty());
}

TEST_CASE("each label gets the threshold of its best F1, which the test keeps") {
  MultiLabelMetric validation({.labels = 4, .fit_thresholds = true});
  validation.add(evaluated(probabilities(), label_truth()));
  validation.result();
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(headrace::models::f1(validation.confusions()[k], 1) ==
          Approx(reference::label_best_f1[k]).epsilon(1e-12));
  const TensorMap fitted = validation.fitted();
  CHECK(fitted.at("thresholds").sizes() == at::IntArrayRef{4});
  CHECK(fitted.at("thresholds")[3].item<double>() == .5);  // never there

  MultiLabelMetric test({.labels = 4, .fit_thresholds = true}, fitted);
  test.add(evaluated(probabilities().slice(0, 0, 20), label_truth().slice(0, 0, 20)));
  test.result();
  CHECK(at::equal(test.fitted().at("thresholds"), fitted.at("thresholds")));
  const at::Tensor decided = decided_labels(probabilities().slice(0, 0, 20), fitted);
  for (std::int64_t k = 0; k < 4; ++k)
    CHECK(test.confusions()[static_cast<std::size_t>(k)].predicted(1) ==
          decided.select(1, k).sum().item<std::int64_t>());
  CHECK_THROWS_AS(MultiLabelMetric({.labels = 3}, fitted), headrace::ConfigError);
}

TEST_CASE("absent rows have no labels that count") {
  at::Tensor target = label_truth();
  target.slice(0, 30, 40).fill_(1);
  MultiLabelMetric padded({.labels = 4, .fit_thresholds = true});
  padded.add(evaluated(probabilities(), target, at::arange(40) < 30));
  MultiLabelMetric plain({.labels = 4, .fit_thresholds = true});
  plain.add(evaluated(probabilities().slice(0, 0, 30), label_truth().slice(0, 0, 30)));
  CHECK((padded.result() == plain.result()));
  CHECK(at::equal(padded.fitted().at("thresholds"), plain.fitted().at("thresholds")));
}

TEST_CASE("while a network learns labels are counted at .5, also over a stop") {
  const at::Tensor logits = values({40, 4}, 18);
  MultiLabelMetric whole({.labels = 4});
  whole.add(learnt(logits, label_truth(), at::arange(40) < 30));
  MultiLabelMetric first({.labels = 4});
  first.add(learnt(logits.slice(0, 0, 13), label_truth().slice(0, 0, 13)));
  MultiLabelMetric second({.labels = 4});
  second.restore(first.state());
  second.add(learnt(logits.slice(0, 13, 30), label_truth().slice(0, 13, 30)));
  CHECK((second.result() == whole.result()));
  CHECK(names_of(whole.result()) == "macro_f1 micro_f1");
  MultiLabelMetric scored({.labels = 4});
  scored.add(evaluated(logits.to(at::kFloat).sigmoid(), label_truth(), at::arange(40) < 30));
  CHECK(figure(whole.result(), "macro_f1") == figure(scored.result(), "macro_f1"));
}
