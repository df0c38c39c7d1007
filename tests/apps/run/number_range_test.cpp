#include <headrace/apps/run/command.h>

#include <string>

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

TEST_CASE("a range of numbers takes its ends, and neither what is beyond nor what is no number") {
  const auto takes = [](std::string text) {
    return headrace::app::number_range(0.5, 2.0)(text).empty();
  };
  for (const char* good : {"0.5", "1", "2.0"})
    CHECK_MESSAGE(takes(good), good);
  for (const char* bad : {"nan", "NAN", "-nan", "inf", "-inf", "0.4", "2.1", "x", ""})
    CHECK_MESSAGE(!takes(bad), bad);
}
