// `headrace monitor` while a program takes all cores. Part of the long tier: that nobody else takes
// them, too, only a machine without other work shows.
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/tests/apps/watch/burning_program.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <string>

#include <doctest/doctest.h>

#include <unistd.h>

namespace {

using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

}  // namespace

TEST_CASE("a program that takes all cores is named, and makes a spike that a monitor sees") {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (headrace::monitor::usable_cores() < static_cast<unsigned>(processors))
    return headrace::test::skip("needs all of the machine's cores to make a spike");
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  StartedProgram burner = headrace::test::burning_program(elsewhere.path(), processors);
  const Finished finished =
      headrace::test::run_headrace(folder.path(), {"monitor", "--pid", std::to_string(burner.pid()),
                                                   "--interval", "200ms", "--duration", "6s"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CAPTURE(finished.out);
  CHECK(contains(finished.out, "(watched)"));
  CHECK_FALSE(contains(finished.out, "no CPU spikes"));
  CHECK(contains(finished.out, "CPU spikes: "));
}
