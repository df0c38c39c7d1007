// Whole trainings on pictures: large ones among small, decoding that fills the cores, somebody else
// who takes them; and nothing planted. Part of the long tier.
#include <headrace/engine/runtime/runtime.h>
#include <headrace/tests/apps/planted/cpu_hog.h>
#include <headrace/tests/apps/planted/planted_training.h>
#include <headrace/tests/support/skip.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::test;

TEST_CASE("pictures a thousand times as large as the others hold the line of a training") {
  const PictureTraining training({.small = 288, .large = 12, .large_side = 3000});
  const Told told = training.told({});
  const auto& advice = told.only("slow-sample");
  CHECK(contains(text_of(advice, "verdict"), "one slow sample holds the line"));
  CHECK(advice.at("setting") == "data.prefetch");
  CHECK(advice.at("old") == "2");
  CHECK(std::stoi(text_of(advice, "new")) > 2);
}

TEST_CASE("decoding that fills the cores is named as what to make cheaper, no threads are added") {
  const PictureTraining training({.large = 300, .large_side = 1200});
  // First among equals where it may be.
  const Told told = training.told(
      {"threads.loader=" + std::to_string(headrace::usable_cores()), "data.prefetch=4"},
      {"/usr/bin/nice", "-n", "-10"});
  for (const auto& one : told.advice)
    if (one.at("rule") == "cpu-shared" && one.at("severity") == "warning")
      return skip("needs the machine's cores for itself, or root's priority");
  const auto& advice = told.only("cheaper-step");
  CHECK(contains(text_of(advice, "verdict"), "decode costs more than the cores have"));
  CHECK(advice.at("setting") == "image.resize");  // decoded whole, pictures can be cached
  CHECK(advice.at("old") == "0");
  CHECK(contains(text_of(advice, "action"), "data.cache.memory"));
}

TEST_CASE("a training names by its number who takes the cores that its decoding needs") {
  const PictureTraining training({.large = 160, .large_side = 1200});
  const CpuHog hog;
  const Told told = training.told(
      {"threads.loader=" + std::to_string(headrace::usable_cores()), "data.prefetch=4"});
  CAPTURE(told.text());
  CAPTURE(told.err);
  const auto& advice = told.only("cpu-shared");
  CHECK(advice.at("severity") == "warning");
  CHECK(contains(text_of(advice, "verdict"), ' ' + hog.pid() + " ("));
  CHECK(advice.at("setting") == "renice -n 19 -p " + hog.pid());
  std::size_t said = 0;
  for (const auto& one : told.advice)
    said += one.at("severity") == "warning" ? 1 : 0;
  CHECK(said <= 2);  // again only where it got worse
}

TEST_CASE("a training whose input keeps up with its step is told nothing") {
  const PictureTraining training({.small = 240});
  const Told told =
      training.told({"model.width=0.25", "image.size=64", "training.epochs=5", "data.prefetch=8"});
  told.check_silent();
  REQUIRE(told.epochs.size() == 5);
  for (const auto& epoch : told.epochs)
    CHECK(epoch.at("bottleneck") == "consumer");
}
