#include <headrace/apps/config/exit_codes.h>

#include <new>
#include <stdexcept>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::app;

TEST_CASE("each kind of error has its exit code") {
  CHECK(exit_code_of(ConfigError("x")) == ExitCode::configuration);
  CHECK(exit_code_of(DataError("x")) == ExitCode::data);
  CHECK(exit_code_of(PipelineError("x")) == ExitCode::data);
  CHECK(exit_code_of(ResourceError("x")) == ExitCode::resources);
  CHECK(exit_code_of(std::bad_alloc()) == ExitCode::resources);
  CHECK(exit_code_of(DeviceError("x")) == ExitCode::device);
  CHECK(exit_code_of(Failure(ExitCode::checkpoint, "x")) == ExitCode::checkpoint);
  CHECK(exit_code_of(std::runtime_error("x")) == ExitCode::bug);
}

TEST_CASE("exit codes are the numbers that schedulers know") {
  CHECK(static_cast<int>(ExitCode::interrupted) == 128 + 2);
  CHECK(static_cast<int>(ExitCode::terminated) == 128 + 15);
  CHECK(static_cast<int>(ExitCode::warned) == 128 + 10);
  CHECK(static_cast<int>(ExitCode::hang) == 128 + 6);
  CHECK(to_string(ExitCode::resources) == "4 (resources)");
  CHECK(to_string(ExitCode::goals) == "8 (goals)");
}
