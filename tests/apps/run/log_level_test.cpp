#include <headrace/apps/run/log_level.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/pseudo_terminal.h>

#include <doctest/doctest.h>

using headrace::test::Environment;
using namespace headrace::app;

TEST_CASE("the option's level goes before the environment's, and without both it is info") {
  {
    const Environment none("HEADRACE_LOG_LEVEL", nullptr);
    CHECK(log_level("") == LogLevel::info);
    CHECK(log_level("trace") == LogLevel::trace);
    CHECK(log_level("error") == LogLevel::error);
  }
  {
    const Environment empty("HEADRACE_LOG_LEVEL", "");
    CHECK(log_level("") == LogLevel::info);
  }
  const Environment debug("HEADRACE_LOG_LEVEL", "debug");
  CHECK(log_level("") == LogLevel::debug);
  CHECK(log_level("warn") == LogLevel::warn);
}

TEST_CASE("a level of another word is refused with the words that there are") {
  CHECK_THROWS_WITH_AS(
      log_level("loud"),
      "[log level] --log-level must be one of trace, debug, info, warn, error, got \"loud\"",
      headrace::ConfigError);
  const Environment loud("HEADRACE_LOG_LEVEL", "DEBUG");
  CHECK_THROWS_WITH_AS(log_level(""),
                       "[log level] HEADRACE_LOG_LEVEL must be one of trace, debug, info, warn, "
                       "error, got \"DEBUG\"",
                       headrace::ConfigError);
  CHECK(log_level("info") == LogLevel::info);
}
