#include <headrace/apps/run/child_process.h>

#include <stop_token>

#include <doctest/doctest.h>

using headrace::app::ChildResult;
using headrace::app::run_child;

TEST_CASE("a child is run to its end, and killed where it is asked to stop") {
  std::stop_source stop;
  const ChildResult done = run_child({"sh", "-c", "echo said; exit 3"}, {}, stop.get_token());
  CHECK(done.status == 3);
  CHECK(done.output == "said\n");
  stop.request_stop();
  CHECK(run_child({"sleep", "1000000"}, {}, stop.get_token()).status == 128 + 9);
}
