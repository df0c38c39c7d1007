#include <headrace/engine/base/error.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/tests/models/loss_inputs.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>

using namespace headrace::models;
using namespace headrace::test;

TEST_CASE("maps are probabilities and targets, exactly 0 where nothing counts") {
  const at::Tensor z = values({2, 1, 3, 4}, 1);
  at::Tensor target = classes({2, 3, 4}, 2, 2).to(at::kByte);
  target[0][1][2] = 2;
  target[1][0][0] = 2;
  at::Tensor other = z.clone();
  other[0][0][1][2] = std::nan("");
  other[1][0][0][0] = std::numeric_limits<double>::infinity();
  const MaskedMaps maps = masked_maps(other, target, {.ignore = 2});
  const at::Tensor known = target.unsqueeze(1) != 2;
  CHECK(at::equal(maps.valid, known));
  CHECK(at::equal(maps.p, at::sigmoid(z) * known));
  CHECK(at::equal(maps.truth, (target.unsqueeze(1) == 1).to(at::kDouble)));
  CHECK(at::equal(maps.counts, at::tensor({11., 11.}, at::kDouble)));
  const Loss sum = [](auto& logits, auto& t) {
    return (masked_maps(logits, t, {.ignore = 2}).p * 3).sum();
  };
  const at::Tensor p = at::sigmoid(z);
  CHECK(at::allclose(gradient(sum, other, target), known * p * (1 - p) * 3));
  CHECK(at::equal(gradient(sum, other, target) == 0, known.logical_not()));
}

TEST_CASE("rows without weight count nowhere, and maps of half precision are float") {
  const at::Tensor z = values({2, 1, 2, 3, 4}, 1).to(at::kHalf);
  const at::Tensor target = classes({2, 1, 2, 3, 4}, 2, 2);
  const MaskedMaps maps = masked_maps(z, target, {.of_samples = at::tensor({0., 3.})});
  CHECK((maps.p.scalar_type() == at::kFloat));
  CHECK((maps.truth.scalar_type() == at::kFloat));
  CHECK(maps.p[0].abs().max().item<double>() == 0.0);
  CHECK(at::equal(maps.p[1], at::sigmoid(z[1].to(at::kFloat))));
  CHECK(at::equal(maps.counts, at::tensor({0.f, 24.f})));
  const MaskedMaps all = masked_maps(z, target);
  CHECK_FALSE(all.valid.defined());
  CHECK(at::equal(all.counts, at::tensor({24.f, 24.f})));
}

TEST_CASE("maps refuse what is no single mask of pictures or volumes") {
  CHECK_THROWS_WITH_AS(masked_maps(at::zeros({2, 2, 4, 4}), at::zeros({2, 2, 4, 4})),
                       "[masked_maps] logits must be [N, 1, height, width] or [N, 1, depth, "
                       "height, width], got [2, 2, 4, 4]",
                       headrace::ConfigError);
  CHECK_THROWS_AS(masked_maps(at::zeros({2, 1, 4}), at::zeros({2, 1, 4})), headrace::ConfigError);
  CHECK_THROWS_AS(masked_maps(at::zeros({2, 1, 4, 4}), at::zeros({2, 4, 5})),
                  headrace::ConfigError);
}
