#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/live_text.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::app;

namespace {

const FoldView shown_fold{.epochs = 4, .samples_per_epoch = 200, .member = "fold 0"};
const StepFacts shown_step{.epoch = 1, .epoch_samples = 50, .learning_rate = 1e-3};

LiveText shown_text(const std::string& machine, std::size_t columns = 100) {
  return live_text({.fold = shown_fold,
                    .step = shown_step,
                    .samples_per_s = 10.0,
                    .loss = 0.5,
                    .terms = {{"loss_dice", 0.3}, {"loss_boundary", 0.2}},
                    .budget = "step 98 ms = data 1 + copy 0 + gpu 95 + other 2",
                    .machine = machine},
                   columns);
}

}  // namespace

TEST_CASE("a run is shown with its place, pace, figures, step and the machine") {
  const LiveText shown = shown_text("GPU: 85 % | CPU: 45 %");
  REQUIRE(shown.lines.size() == 4);
  CHECK(shown.lines[0].starts_with("fold 0 epoch 2/4 "));
  CHECK(shown.lines[0].ends_with(" 25 %"));
  CHECK(shown.lines[1].starts_with("10.0 samples/s · epoch done in 15.0 s · "));
  CHECK(shown.lines[2] == "step 98 ms = data 1 + copy 0 + gpu 95 + other 2");
  CHECK(shown.lines[3] == "GPU: 85 % | CPU: 45 %");
  CHECK(shown.plain.starts_with("fold 0 epoch 2/4 25 % · 10.0 samples/s"));
  CHECK(shown.plain.ends_with(" · GPU: 85 % | CPU: 45 %"));
}

TEST_CASE("before the first sample nothing is said of the machine") {
  const LiveText shown = shown_text("");
  CHECK(shown.lines.size() == 3);
  CHECK(shown.plain.ends_with("other 2"));
}

TEST_CASE("terms of the loss are shown where they fit") {
  CHECK(shown_text("").lines[1].find("dice") != std::string::npos);
  const LiveText narrow = shown_text("", 60);
  CHECK(narrow.lines[1].find("dice") == std::string::npos);
  CHECK(text_width(narrow.lines[1]) <= 60);
}
