#include <headrace/apps/train/goals.h>

#include <doctest/doctest.h>

using namespace headrace::app;

TEST_CASE("goals end with pass or fail, each with what was wanted and what came") {
  const MemoryGoals goals{.ram = Bytes{10ULL << 30}, .gpu_memory = Bytes{6ULL << 30}};
  CHECK(goals_text(goals, {.ram = 10ULL << 30, .gpu_memory = (6ULL << 30) + (1ULL << 28)}) ==
        "goal ram: at most 10.0 GiB, held 10.0 GiB: pass\n"
        "goal gpu_memory: at most 6.00 GiB, reserved 6.25 GiB: FAIL\n");
  CHECK(goals_text(goals, {.ram = 11ULL << 30}) ==
        "goal ram: at most 10.0 GiB, held 11.0 GiB: FAIL\n"
        "goal gpu_memory: no GPU was used, not judged\n");
  CHECK(goals_text({}, {.ram = 1}).empty());
}
