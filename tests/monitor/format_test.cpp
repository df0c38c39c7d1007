#include <headrace/monitor/format.h>

#include <limits>

#include <doctest/doctest.h>

using namespace headrace::monitor;

TEST_CASE("bytes are shown with three figures in binary units") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.00 KiB");
  CHECK(format_bytes(1536ull << 20) == "1.50 GiB");
  CHECK(format_bytes((1ull << 20) - 1) == "1.00 MiB");
  CHECK(format_bytes(640ull << 20) == "640 MiB");
}

TEST_CASE("durations are shown in the unit that fits") {
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(340e-6) == "340 us");
  CHECK(format_seconds(0.098) == "98.0 ms");
  CHECK(format_seconds(2.5) == "2.50 s");
  CHECK(format_seconds(250) == "4 min 10 s");
  CHECK(format_seconds(8040) == "2 h 14 min");
  CHECK(format_seconds(-2.5) == "-2.50 s");
  CHECK(format_seconds(std::numeric_limits<double>::infinity()) == "unknown");
}

TEST_CASE("rates and shares keep their digits readable") {
  CHECK(format_rate(812) == "812");
  CHECK(format_rate(12300) == "12.3 k");
  CHECK(format_rate(2.05e6) == "2.05 M");
  CHECK(format_share(0.031) == "3.1 %");
  CHECK(format_share(0.42) == "42 %");
}
