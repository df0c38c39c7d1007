#include <headrace/monitor/advice/loader_threads.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace headrace::monitor;

TEST_CASE("times of a loader's threads are those of its workers and of those that read") {
  const headrace::test::TemporaryFolder root;
  const auto add = [&](int id, const std::string& name, const std::string& times) {
    const auto thread = root.path() / "proc/self/task" / std::to_string(id);
    std::filesystem::create_directories(thread);
    std::ofstream(thread / "comm") << name << '\n';
    if (!times.empty()) std::ofstream(thread / "schedstat") << times << '\n';
  };
  CHECK_FALSE(read_loader_threads(root.path()).has_value());
  add(1, "headrace-train", "9000000000 9000000000 1");
  add(2, "headrace-watch", "9000000000 9000000000 1");
  add(3, "headrace-0", "");  // a kernel that does not tell
  CHECK_FALSE(read_loader_threads(root.path()).has_value());
  add(3, "headrace-0", "1500000000 250000000 7");
  add(4, "headrace-11", "500000000 250000000 7");
  add(5, "headrace-io-0", "125000000 0 7");
  const auto times = read_loader_threads(root.path());
  REQUIRE(times.has_value());
  CHECK(times->workers.cpu_s == doctest::Approx(2.0));
  CHECK(times->workers.queued_s == doctest::Approx(0.5));
  CHECK(times->io.cpu_s == doctest::Approx(0.125));
  CHECK(times->io.queued_s == 0.0);
  CHECK_FALSE(loader_threads_since(std::nullopt, root.path()).has_value());
  add(4, "headrace-11", "700000000 550000000 9");
  add(5, "headrace-io-0", "125000000 100000000 8");
  const auto since = loader_threads_since(times, root.path());
  REQUIRE(since.has_value());
  CHECK(since->workers.cpu_s == doctest::Approx(0.2));
  CHECK(since->workers.queued_s == doctest::Approx(0.3));
  CHECK(since->io.queued_s == doctest::Approx(0.1));
}
