#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_ladder.h>

#include <chrono>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::monitor::MemoryLadder;
using headrace::monitor::MemoryStep;
using std::chrono::milliseconds;

using Steps = std::vector<MemoryStep>;

// Looks every 200 ms, as long as the list of shares says.
class Looks {
 public:
  explicit Looks(MemoryLadder& ladder) : ladder_(ladder) {}

  Steps at(double share, int looks) {
    Steps steps;
    for (int i = 0; i < looks; ++i, now_ += milliseconds(200))
      if (const std::optional<MemoryStep> step = ladder_.see(share, now_)) steps.push_back(*step);
    return steps;
  }

 private:
  MemoryLadder& ladder_;
  MemoryLadder::Clock::time_point now_{std::chrono::hours(1)};
};

}  // namespace

TEST_CASE("below the soft share nothing is ever given up") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(0.5, 100).empty());
  CHECK(looks.at(0.95, 1000).empty());
}

TEST_CASE("above the soft share the cheapest goes first, a step every two seconds") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(0.96, 1) == Steps{MemoryStep::evict});
  CHECK(looks.at(0.96, 9).empty());
  CHECK(looks.at(0.96, 1) == Steps{MemoryStep::lower});
  CHECK(looks.at(0.96, 10) == Steps{MemoryStep::trim});
  CHECK(looks.at(0.96, 10) == Steps{MemoryStep::pause});
}

TEST_CASE("a step that was enough is the last, and what was given up comes back after some calm") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(0.96, 11) == Steps{MemoryStep::evict, MemoryStep::lower});
  CHECK(looks.at(0.93, 100).empty());
  CHECK(looks.at(0.85, 49).empty());
  CHECK(looks.at(0.85, 2) == Steps{MemoryStep::restore});
  CHECK(looks.at(0.85, 100).empty());
}

TEST_CASE("what was taken back too early comes back later the next time") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(0.96, 11) == Steps{MemoryStep::evict, MemoryStep::lower});
  CHECK(looks.at(0.85, 51) == Steps{MemoryStep::restore});
  CHECK(looks.at(0.96, 11) == Steps{MemoryStep::evict, MemoryStep::lower});
  CHECK(looks.at(0.85, 99).empty());
  CHECK(looks.at(0.85, 2) == Steps{MemoryStep::restore});
}

TEST_CASE("where nothing was lowered nothing is taken back, and the ladder begins anew") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(0.96, 1) == Steps{MemoryStep::evict});
  CHECK(looks.at(0.85, 60).empty());
  CHECK(looks.at(0.96, 1) == Steps{MemoryStep::evict});
}

TEST_CASE("a pause ends where memory came free, or would come free no more") {
  MemoryLadder ladder;
  Looks looks(ladder);
  REQUIRE(looks.at(0.96, 31).size() == 4);
  CHECK(looks.at(0.89, 1) == Steps{MemoryStep::resume});
  MemoryLadder other;
  Looks at_other(other);
  REQUIRE(at_other.at(0.96, 31).size() == 4);
  CHECK(at_other.at(0.96, 9).empty());
  CHECK(at_other.at(0.96, 1) == Steps{MemoryStep::resume});
  CHECK(at_other.at(0.97, 200).empty());
}

TEST_CASE("above the hard share each look is a step, and the run ends after some more") {
  MemoryLadder ladder;
  Looks looks(ladder);
  CHECK(looks.at(1.01, 4) ==
        Steps{MemoryStep::evict, MemoryStep::lower, MemoryStep::trim, MemoryStep::pause});
  CHECK(looks.at(1.01, 4).empty());
  CHECK(looks.at(1.01, 1) == Steps{MemoryStep::stop});
  CHECK(looks.at(2.0, 100).empty());
  CHECK(looks.at(0.1, 100).empty());
}

TEST_CASE("a moment above the hard share ends no run") {
  MemoryLadder ladder;
  Looks looks(ladder);
  REQUIRE(looks.at(1.01, 8).size() == 4);
  CHECK(looks.at(0.99, 2).empty());
  CHECK(looks.at(1.01, 4).empty());
  CHECK(looks.at(0.99, 1) == Steps{MemoryStep::resume});
  // Over it again: the producers are paused again, then the looks are counted anew.
  CHECK(looks.at(1.01, 1) == Steps{MemoryStep::pause});
  CHECK(looks.at(1.01, 5) == Steps{MemoryStep::stop});
}

TEST_CASE("shares that make no ladder are refused") {
  CHECK_THROWS_AS(MemoryLadder({.soft = 0.8}), headrace::ConfigError);
  CHECK_THROWS_AS(MemoryLadder({.hard = 0.9}), headrace::ConfigError);
  CHECK_THROWS_AS(MemoryLadder({.low = 0.0}), headrace::ConfigError);
  CHECK_THROWS_AS(MemoryLadder({.looks = 0}), headrace::ConfigError);
}
