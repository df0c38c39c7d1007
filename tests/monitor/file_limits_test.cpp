#include <headrace/monitor/system/file_limits.h>

#include "fake_root.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;

namespace {

constexpr const char* header =
    "Limit                     Soft Limit           Hard Limit           Units     \n";

}  // namespace

TEST_CASE("limits of open files and locked memory stand beside what a run needs") {
  const FakeRoot root;
  root.write(
      "proc/self/limits",
      std::string(header) +
          "Max open files            1024                 524288               files     \n"
          "Max locked memory         8388608              unlimited            bytes     \n");
  root.write("proc/self/fd/0", "");
  root.write("proc/self/fd/1", "");
  const auto files = read_file_limits({.open = 2000, .locked = 1 << 20}, root.path());
  REQUIRE(files);
  CHECK(files->open == 2);
  CHECK(files->limit == 1024);
  CHECK(files->hard_limit == 524288);
  CHECK(files->needed == 2002);
  CHECK(files->locked_limit == 8388608);
  CHECK(files->locked_needed == 1 << 20);
}

TEST_CASE("a limit that is not set is the largest number") {
  const FakeRoot root;
  root.write("proc/self/limits",
             "Max open files unlimited unlimited files\n"
             "Max locked memory unlimited unlimited bytes\n");
  const auto files = read_file_limits({}, root.path());
  REQUIRE(files);
  CHECK(files->limit == no_limit);
  CHECK(files->locked_limit == no_limit);
}

TEST_CASE("limits that cannot be read or understood are unknown, never a number") {
  const FakeRoot root;
  CHECK_FALSE(read_file_limits({}, root.path()));
  root.write("proc/self/limits", "Max open files many more files\n");
  CHECK_FALSE(read_file_limits({}, root.path()));
  root.write("proc/self/limits", "Max open files 1024 4096 files\n");
  CHECK_FALSE(read_file_limits({}, root.path()));
}

TEST_CASE("this process's own limits are those that the kernel gives") {
  const auto files = read_file_limits();
  REQUIRE(files);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(files->limit == limit.rlim_cur);
  CHECK(files->hard_limit == limit.rlim_max);
  CHECK(files->open >= 3);
}
