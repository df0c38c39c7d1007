// A run whose user's operation keeps what it takes: what is given up, what is said, and that
// nothing is lost.
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::best_weights;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::newest_checkpoint;
using headrace::test::run_program;

using Words = std::vector<std::string>;

class LeakingTraining : public headrace::test::TrainingFolder {
 public:
  LeakingTraining()
      : TrainingFolder(
            "kind: quadrants\nseed: 3\ndevice: cpu\ntraining:\n  epochs: 8\n  batch: 16\n"
            "  accumulation: 4\n"
            "  evaluation_batch: 256\nthreads:\n  loader: 2\n  torch: 1\n") {}

  Finished run(const Words& words) const {
    return run_program(headrace::test::leaking_program(), words, {.folder = path()});
  }
  double forecast() const {
    const Finished profiled =
        run({"profile-memory", "job.yaml", "--no-switches", "--json", "profile.json"});
    REQUIRE_MESSAGE(profiled.status == 0, profiled.err);
    return nlohmann::json::parse(content_of(path() / "profile.json"))
        .at("stages")
        .at(0)
        .at("host_bytes");
  }
};

class Leak {
 public:
  explicit Leak(const char* bytes) { ::setenv("HEADRACE_TEST_LEAK", bytes, 1); }
  Leak(const Leak&) = delete;
  Leak& operator=(const Leak&) = delete;
  ~Leak() { ::unsetenv("HEADRACE_TEST_LEAK"); }
};

}  // namespace

TEST_CASE("a leak in a user's operation walks the ladder to a checkpoint that a run goes on from") {
  const LeakingTraining job;
  const auto limit = static_cast<std::uint64_t>(1.2 * job.forecast());
  REQUIRE(job.run(LeakingTraining::train({"runs=calm"})).status == 0);
  Finished leaked;
  {
    const Leak leak("60000");
    leaked = job.run(LeakingTraining::train({"memory=" + std::to_string(limit) + "B"}));
  }
  CHECK_MESSAGE(leaked.status == 4, leaked.err);
  CHECK(contains(leaked.err, "loaders use half of their memory from now on"));
  CHECK(contains(leaked.err, "free parts of the heap went back to the system"));
  CHECK(contains(leaked.err, "loaders begin no batch for now"));
  CHECK(contains(leaked.err, "nothing more can be given up, the run is saved and ends"));
  CHECK(contains(leaked.err, "who holds what"));
  CHECK(contains(leaked.err,
                 "most beyond the plan: step \"remembers\" of train, which keeps what it takes"));
  CHECK_FALSE(contains(leaked.err, "step \"twice\""));
  CHECK(contains(content_of(job.only_run() / "log.txt"), "who holds what"));
  CHECK(std::filesystem::exists(newest_checkpoint(job.only_run())));
  const Finished resumed = job.run({"train", "--resume", job.only_run().string()});
  REQUIRE_MESSAGE(resumed.status == 0, resumed.err);
  CHECK(best_weights(job.only_run()) == best_weights(job.only_run("calm")));
}
