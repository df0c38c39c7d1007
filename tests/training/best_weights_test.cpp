#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>

#include <ATen/Functions.h>

using namespace headrace::training;

TEST_CASE("what a validation has fitted comes back as it was, whatever its dtype and values") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const headrace::test::TemporaryFolder folder;
  const TensorMap fitted{
      {"threshold", at::tensor({.5, inf, -inf, std::numeric_limits<double>::quiet_NaN()})},
      {"of floats", at::tensor({.1F}).view({1, 1})},
      {"counts", at::tensor({std::int64_t{1} << 60, std::int64_t{-3}})},
      {"known", at::tensor({1, 0}, at::kLong).to(at::kBool)},
      {"one", at::scalar_tensor(.25, at::kHalf)},
      {"none", at::empty({0, 2})}};
  write_best_weights(folder.path() / "w", {.weights = {{"w", at::ones({2})}}, .fitted = fitted});
  const BestWeights read = read_best_weights(folder.path() / "w");
  CHECK(read.fitted.size() == fitted.size());
  for (const auto& [name, tensor] : fitted) {
    CAPTURE(name);
    CHECK((read.fitted.at(name).scalar_type() == tensor.scalar_type()));
    CHECK(read.fitted.at(name).sizes() == tensor.sizes());
    CHECK(
        at::allclose(read.fitted.at(name).to(at::kDouble), tensor.to(at::kDouble), 0.0, 0.0, true));
  }
  CHECK(read.fitted.at("counts")[0].item<std::int64_t>() == std::int64_t{1} << 60);
}

TEST_CASE("figures come back with infinities, and with what is no number") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const headrace::test::TemporaryFolder folder;
  write_best_weights(folder.path() / "w",
                     {.selected_by = "psnr",
                      .validation = {{"psnr", inf}, {"gain", -inf}, {"auc", std::nan("")}}});
  const Figures read = read_best_weights(folder.path() / "w").validation;
  CHECK(figure(read, "psnr") == inf);
  CHECK(figure(read, "gain") == -inf);
  CHECK(std::isnan(read.at(2).second));
}

TEST_CASE("a recipe's notes may have any name") {
  const headrace::test::TemporaryFolder folder;
  const std::map<std::string, std::string> notes{{"epoch", "of the year 2000"},
                                                 {"fitted", "well"},
                                                 {"selected_by", "hand"},
                                                 {"unread", "books"}};
  write_best_weights(folder.path() / "w", {.weights = {{"w", at::ones({2})}},
                                           .stage = 1,
                                           .epoch = 4,
                                           .selected_by = "accuracy",
                                           .validation = {{"accuracy", .5}},
                                           .unread = "1 of 3",
                                           .notes = notes});
  const BestWeights read = read_best_weights(folder.path() / "w");
  CHECK((read.notes == notes));
  CHECK(read.stage == 1);
  CHECK(read.epoch == 4);
  CHECK(read.selected_by == "accuracy");
  CHECK((read.validation == Figures{{"accuracy", .5}}));
  CHECK(read.unread == "1 of 3");
}

TEST_CASE("weights of other programs are weights, and a damaged header is refused") {
  const headrace::test::TemporaryFolder folder;
  write_safetensors(folder.path() / "w",
                    {.tensors = {{"w", at::ones({2})}}, .metadata = {{"format", "pt"}}});
  const BestWeights read = read_best_weights(folder.path() / "w");
  CHECK(read.weights.contains("w"));
  CHECK(read.notes.at("format") == "pt");
  CHECK(read.epoch == -1);
  write_safetensors(folder.path() / "w", {.tensors = {{"w", at::ones({2})}},
                                          .metadata = {{"headrace.selected_by", "loss"}}});
  CHECK_THROWS_WITH_AS(read_best_weights(folder.path() / "w"), doctest::Contains("headrace.stage"),
                       CheckpointError);
}
