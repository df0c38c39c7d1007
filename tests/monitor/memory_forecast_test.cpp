#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_forecast.h>

#include "memory_units.h"

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::mib;

namespace {

MemoryForecast forecast() {
  MemoryForecast sum;
  sum.add("slabs", 60 * mib, "6 x 10.0 MiB");
  sum.add("table", 30 * mib);
  sum.add("process", 10 * mib);
  return sum;
}

}  // namespace

TEST_CASE("a forecast that just fits is accepted and one byte less is refused") {
  CHECK_NOTHROW(forecast().require({100 * mib, "configuration"}));
  CHECK_THROWS_AS(forecast().require({100 * mib - 1, "configuration"}), headrace::ResourceError);
}

TEST_CASE("a refusal carries the sum, the limit, who set it and the largest part") {
  std::string message;
  try {
    forecast().require({80 * mib, "cgroup /a"});
  } catch (const headrace::ResourceError& error) {
    message = error.what();
  }
  CHECK(message.starts_with(
      "[memory] the forecast must fit the limit of 80.0 MiB (cgroup /a), got 100 MiB; raise the "
      "limit or shrink slabs, the largest part"));
  CHECK(message.find("missing") != std::string::npos);
  CHECK(message.find("20.0 MiB") != std::string::npos);
}

TEST_CASE("the table lists the parts, the total, the limit and what is left") {
  CHECK(forecast().table({128 * mib, "configuration"}) ==
        "  slabs      60.0 MiB  6 x 10.0 MiB\n"
        "  table      30.0 MiB\n"
        "  process    10.0 MiB\n"
        "  -------------------\n"
        "  total       100 MiB\n"
        "  limit       128 MiB  configuration\n"
        "  left       28.0 MiB\n");
}

TEST_CASE("a forecast is one line with its largest parts") {
  CHECK(forecast().line({128 * mib, "configuration"}) ==
        "memory 100 MiB of 128 MiB (configuration): slabs 60.0 MiB, table 30.0 MiB, 1 more");
  MemoryForecast one;
  CHECK(one.line({mib, "machine"}) == "memory 0 B of 1.00 MiB (machine)");
  one.add("table", mib);
  CHECK(one.line({mib, "machine"}) == "memory 1.00 MiB of 1.00 MiB (machine): table 1.00 MiB");
}

TEST_CASE("a sum beyond the type's range does not wrap around into fitting") {
  MemoryForecast sum;
  sum.add("a", UINT64_MAX - 5);
  sum.add("b", 100);
  CHECK(sum.total() == UINT64_MAX);
  CHECK_FALSE(sum.fits(1000));
}
