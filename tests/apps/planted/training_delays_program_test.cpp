// A delay planted in each stage of a whole training: verdict and advice name it and its key.
// Part of the long tier: who is slow hangs on what else the machine does.
#include <headrace/tests/apps/planted/planted_training.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

struct PlantedDelay {
  const char* setting;
  const char* stage;
  const char* rule;
  const char* key;
  const char* old_value;
};

}  // namespace

TEST_CASE("a training names the stage that a delay was planted into, and the key for it") {
  const RowTraining training;
  for (const PlantedDelay& delay :
       {PlantedDelay{"delay.read=20ms", "read", "raise-io-threads", "threads.io", "4"},
        PlantedDelay{"delay.decode=5ms", "decode delay", "raise-threads", "threads.loader", "1"},
        PlantedDelay{"delay.augment=5ms", "augment delay", "raise-threads", "threads.loader", "1"},
        PlantedDelay{"delay.transfer=50ms", "transfer delay", "smaller-transfer",
                     "transfer delay time a sample", ""}}) {
    CAPTURE(delay.setting);
    const Told told = training.told({delay.setting});
    const auto& advice = told.only(delay.rule);
    CHECK(
        contains(text_of(advice, "verdict"), std::string(delay.stage) + " holds the loader back"));
    CHECK(advice.at("setting") == delay.key);
    if (*delay.old_value != '\0') {
      CHECK(advice.at("old") == delay.old_value);
      CHECK(std::stoi(text_of(advice, "new")) > std::stoi(delay.old_value));
    }
    CHECK(contains(told.err, std::string("highly input-bound")));
    CHECK(contains(told.err, std::string(": ") + delay.stage + " holds the loader back"));
    REQUIRE(told.epochs.size() == 3);
    for (const auto& epoch : told.epochs)
      CHECK(epoch.at("bottleneck") == delay.stage);
  }
}
