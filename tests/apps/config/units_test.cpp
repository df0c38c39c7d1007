#include <headrace/apps/config/units.h>

#include <doctest/doctest.h>

using namespace headrace::app;

TEST_CASE("sizes are read in binary and decimal units") {
  CHECK(parse_bytes("4096") == Bytes{4096});
  CHECK(parse_bytes("512MiB") == Bytes{512ull << 20});
  CHECK(parse_bytes("10 GiB") == Bytes{10ull << 30});
  CHECK(parse_bytes("1GB") == Bytes{1'000'000'000});
  CHECK(parse_bytes("1.5KiB") == Bytes{1536});
  CHECK(parse_bytes("9007199254740993") == Bytes{9007199254740993ull});
}

TEST_CASE("what is no size is refused") {
  for (const char* text :
       {"", "GiB", "-1", "-1GiB", "1gb", "1 GiB x", "1e3", "0x10", "inf", "nan", "99999999TiB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
}

TEST_CASE("durations are read with their unit and refused without") {
  CHECK(parse_duration("20ms") == Duration{0.02});
  CHECK(parse_duration("10min") == Duration{600});
  CHECK(parse_duration("1.5h") == Duration{5400});
  CHECK(parse_duration("0s") == Duration{0});
  CHECK(parse_duration("36500d") == Duration{36500.0 * 86400});
  for (const char* text :
       {"", "20", "ms", "-1s", "1 m", "1S", "nan s", "36501d", "1000000000000000000s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("written sizes and durations read back to the same value") {
  for (const std::uint64_t value :
       {0ull, 1ull, 1000ull, 1024ull, 1536ull, 10ull << 30, (1ull << 62) + 1}) {
    CHECK(parse_bytes(format_exact(Bytes{value})) == Bytes{value});
  }
  for (const double seconds : {0.0, 0.02, 600.0, 5400.0, 0.1, 1.0 / 3.0, 1e-7, 86400.0, 3.0e9}) {
    CHECK(parse_duration(format_exact(Duration{seconds})) == Duration{seconds});
  }
  CHECK(format_exact(Bytes{10ull << 30}) == "10GiB");
  CHECK(format_exact(Duration{0.02}) == "20ms");
  CHECK(format_exact(Duration{600}) == "10min");
}
