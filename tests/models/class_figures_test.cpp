// Figures of classes beside scikit-learn's: reference/make_loss_values.py.
#include <headrace/models/metrics/area_under_roc.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/metrics/top_k.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace headrace::models;
using doctest::Approx;
namespace test = headrace::test;
namespace reference = headrace::test::reference;

namespace {

// Five classes, of which 3 is never there and 4 never predicted.
ConfusionMatrix known_matrix() {
  at::Tensor target = test::classes({60}, 4, 13);
  target = at::where(target == 3, 4, target);
  const at::Tensor scores = test::values({60, 5}, 14).to(at::kFloat).softmax(1);
  scores.select(1, 4).zero_();
  ConfusionAccumulator counts(5);
  counts.add(scores, target);
  return counts.matrix();
}

}  // namespace

TEST_CASE("precision, recall, F1 and IoU of each class are scikit-learn's") {
  const ConfusionMatrix matrix = known_matrix();
  CHECK(matrix.support(3) == 0);
  CHECK(matrix.predicted(4) == 0);
  for (std::int64_t k = 0; k < 5; ++k) {
    CAPTURE(k);
    CHECK(precision(matrix, k) == Approx(reference::class_precision[k]).epsilon(1e-12));
    CHECK(recall(matrix, k) == Approx(reference::class_recall[k]).epsilon(1e-12));
    CHECK(f1(matrix, k) == Approx(reference::class_f1[k]).epsilon(1e-12));
    CHECK(iou(matrix, k) == Approx(reference::class_iou[k]).epsilon(1e-12));
  }
}

TEST_CASE("means over classes are scikit-learn's") {
  const ConfusionMatrix matrix = known_matrix();
  CHECK(accuracy(matrix) == Approx(reference::class_accuracy).epsilon(1e-12));
  CHECK(balanced_accuracy(matrix) == Approx(reference::class_balanced_accuracy).epsilon(1e-12));
  CHECK(macro_f1(matrix) == Approx(reference::class_macro_f1).epsilon(1e-12));
  CHECK(mean_iou(matrix) == Approx(reference::class_mean_iou).epsilon(1e-12));
  CHECK(weighted_f1(matrix) == Approx(reference::class_weighted_f1).epsilon(1e-12));
  CHECK(quadratic_weighted_kappa(matrix) == Approx(reference::class_qwk).epsilon(1e-12));
}

TEST_CASE("a class that is neither there nor predicted has no figures and is in no mean") {
  const ConfusionMatrix matrix(3, {8, 2, 0, 0, 5, 0, 0, 0, 0});
  CHECK(std::isnan(precision(matrix, 2)));
  CHECK(std::isnan(recall(matrix, 2)));
  CHECK(std::isnan(f1(matrix, 2)));
  CHECK(std::isnan(iou(matrix, 2)));
  CHECK(mean_iou(matrix) == Approx((.8 + 5. / 7.) / 2));
  CHECK(mean_iou(matrix, 1) == Approx(5. / 7.));
  CHECK(macro_f1(matrix, 1) == Approx(10. / 12.));
  CHECK(std::isnan(macro_f1(matrix, 2)));
}

TEST_CASE("areas of one class against the rest are scikit-learn's, and so is the top five") {
  const at::Tensor target = test::classes({60}, 7, 15);
  const at::Tensor scores = test::values({60, 7}, 16).to(at::kFloat);
  const at::Tensor labels =
      (target.unsqueeze(1) == at::arange(7, at::kLong)).to(at::kByte).contiguous();
  CHECK(macro_area_under_roc({scores.const_data_ptr<float>(), 420},
                             {labels.const_data_ptr<std::uint8_t>(), 420},
                             7) == Approx(reference::class_auc).epsilon(1e-12));
  CHECK(is_in_top_k(scores, target, 5).to(at::kDouble).mean().item<double>() ==
        Approx(reference::class_top5).epsilon(1e-12));
  CHECK(is_in_top_k(scores, target, 7).all().item<bool>());
  CHECK(at::equal(is_in_top_k(scores, target, 1), scores.argmax(1) == target));
}

TEST_CASE("scores that say nothing are not among the top") {
  const at::Tensor target = at::tensor({0, 3, 5}, at::kLong);
  CHECK_FALSE(is_in_top_k(at::ones({3, 6}), target, 5).any().item<bool>());
  const at::Tensor none = at::full({3, 6}, std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(is_in_top_k(none, target, 5).any().item<bool>());
}

TEST_CASE("pixels are counted like rows, but for those that are left out") {
  const at::Tensor logits = test::values({2, 3, 4, 5}, 20);
  const at::Tensor target = test::with_ignored(test::classes({2, 4, 5}, 3, 21));
  ConfusionAccumulator pixels(3);
  pixels.add(logits, target.to(at::kByte), target != test::ignored);
  ConfusionMatrix expected(3);
  const at::Tensor predicted = logits.argmax(1);
  for (std::int64_t i = 0; i < target.numel(); ++i) {
    const std::int64_t truth = target.view(-1)[i].item<std::int64_t>();
    if (truth != test::ignored) expected.add(truth, predicted.view(-1)[i].item<std::int64_t>());
  }
  const ConfusionMatrix found = pixels.matrix();
  CHECK(found.total() == 40 - 4);
  for (std::int64_t i = 0; i < 9; ++i)
    CHECK(found.at(i / 3, i % 3) == expected.at(i / 3, i % 3));
}

TEST_CASE("voxels of a volume are counted piece by piece like those of its slices") {
  const std::vector<std::int64_t> shape{1, 19, 512, 512};  // more than a piece, in uneven ones
  const at::Tensor places = at::arange(19 * 512 * 512, at::kLong).view(shape);
  const at::Tensor logits = at::stack({places % 5, places % 7, places % 3}, 1).to(at::kFloat);
  const at::Tensor target = (places / 11) % 3;
  const at::Tensor present = places % 13 != 0;
  ConfusionAccumulator whole(3), alone(3), all(3);
  whole.add(logits, target, present);
  all.add(logits, target, at::ones({1, 1, 1, 1}, at::kBool));
  for (std::int64_t z = 0; z < shape[1]; ++z)
    alone.add(logits.select(2, z), target.select(1, z), present.select(1, z));
  CHECK(at::equal(whole.state(), alone.state()));
  CHECK(whole.matrix().total() == present.sum().item<std::int64_t>());
  CHECK(all.matrix().total() == target.numel());
}
