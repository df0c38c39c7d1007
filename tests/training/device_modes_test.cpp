#include <headrace/tests/training/changed_course.h>
#include <headrace/training/evaluation/evaluation.h>

#include "pattern_recipe.h"

#include <memory>
#include <optional>
#include <vector>

#include <ATen/Context.h>

// Modes of the whole process are those of the stage that runs.
using namespace headrace::training;
using headrace::test::TemporaryFolder;

namespace {

std::vector<DeviceModes> modes_seen(std::vector<Stage> stages) {
  std::vector<DeviceModes> seen;
  const TemporaryFolder folder;
  const PatternRecipe recipe(std::move(stages));
  MemberCallbacks callbacks;
  callbacks.on_stage = [&](const StageStart&) {
    const at::Context& context = at::globalContext();
    seen.push_back({.precision = context.allowTF32CuDNN() ? Precision::tf32 : Precision::fp32,
                    .cudnn_benchmark = context.benchmarkCuDNN(),
                    .deterministic = context.deterministicAlgorithms()});
  };
  train_member(recipe, recipe.members().front(), {.folder = folder.path()}, callbacks);
  set_device_modes({});
  return seen;
}

}  // namespace

TEST_CASE("a stage's precision and cuDNN's modes hold while it is trained, and no longer") {
  std::vector<Stage> stages = two_stages();
  stages[0].deterministic = true;
  stages[0].precision = Precision::tf32;
  stages[1].cudnn_benchmark = true;
  const std::vector<DeviceModes> seen = modes_seen(stages);
  REQUIRE(seen.size() == 2);
  CHECK((seen[0].precision == Precision::tf32));
  CHECK(seen[0].deterministic);
  CHECK_FALSE(seen[0].cudnn_benchmark);
  CHECK((seen[1].precision == Precision::fp32));
  CHECK_FALSE(seen[1].deterministic);
  CHECK(seen[1].cudnn_benchmark);
}

TEST_CASE("an evaluation has its stage's precision, and leaves that of the process") {
  PatternRecipe recipe(two_stages());
  const std::shared_ptr<const Course> course = recipe.begin(recipe.members().front());
  const auto network = course->network();
  set_device_modes({});
  for (const Precision precision : {Precision::tf32, Precision::fp32}) {
    std::optional<bool> seen;
    EvaluationOptions options{.split = Split::validation};
    options.stage.precision = precision;
    headrace::Loader loader = course->evaluation(Split::validation, {.batch = 8}).build({});
    const headrace::test::ChangedCourse asking(course, {.example_for_loss = [&](Example example) {
                                                 seen = at::globalContext().allowTF32CuDNN();
                                                 return example;
                                               }});
    evaluate(asking, *network, loader, options);
    CHECK(seen == (precision == Precision::tf32));
    CHECK_FALSE(at::globalContext().allowTF32CuDNN());
  }
}

TEST_CASE("a stage that is to be deterministic and to try algorithms is refused") {
  std::vector<Stage> stages = two_stages();
  stages[1].deterministic = stages[1].cudnn_benchmark = true;
  CHECK_THROWS_WITH_AS(modes_seen(stages), doctest::Contains("cudnn_benchmark"),
                       headrace::ConfigError);
}
