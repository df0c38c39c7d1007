// What a whole training says of a GPU that waits for its input. Part of the long tier: which cause
// it is hangs on what else the machine does.
#include <headrace/tests/apps/planted/planted_training.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

// The stand-in as the library that a driver brings, whose first GPU is 12 % busy and has the
// training among its processes.
class IdleGpu {
 public:
  explicit IdleGpu(const fs::path& folder) : path_("LD_LIBRARY_PATH", folder.string()) {
    fs::create_symlink(HEADRACE_NVML_STAND_IN, folder / "libnvidia-ml.so.1");
  }

 private:
  Variable path_;
  Variable busy_{"HEADRACE_STAND_IN_BUSY", "12"};
};

}  // namespace

TEST_CASE("a GPU below 30 % busy is warned of with its cause in the input") {
  struct Starved {
    const char* setting;
    const char* rule;
    const char* cause;
  };
  for (const Starved& starved :
       {Starved{"delay.decode=8ms", "raise-threads",
                "the cause: too few workers: decode delay holds the loader back"},
        Starved{"delay.read=30ms", "raise-io-threads",
                "the cause: storage: read holds the loader back"}}) {
    CAPTURE(starved.setting);
    const RowTraining training;
    const IdleGpu gpu(training.path());
    const Told told = training.told({starved.setting});
    CAPTURE(told.text());
    CAPTURE(told.err);
    REQUIRE(told.says(starved.rule));
    bool warned = false;
    for (const auto& one : told.advice) {
      const std::string verdict = text_of(one, "verdict");
      if (!verdict.starts_with("the GPU is busy 12 % of the time; ")) continue;
      warned = true;
      CHECK(one.at("rule") == starved.rule);
      CHECK(contains(verdict, starved.cause));
      CHECK(contains(verdict, "; not "));
    }
    CHECK(warned);
    CHECK(contains(told.err, "warning the GPU is busy 12 % of the time"));
  }
}
