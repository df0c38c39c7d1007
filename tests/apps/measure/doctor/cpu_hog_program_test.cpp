// A process that takes the cores: alone, so that nobody else is busier than it is. Part of the long
// tier.
#include <headrace/tests/apps/measure/doctor/planted_job.h>
#include <headrace/tests/apps/planted/cpu_hog.h>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

// Who was busier than the hog, on a machine that others use, may stand before it.
bool is_busiest(const nlohmann::json& found, const CpuHog& hog) {
  const auto& others = found.at("ceilings").at("memory").at("busiest_others");
  const auto place = std::ranges::find_if(others, [&](const nlohmann::json& one) {
    return std::to_string(one.at("pid").get<int>()) == hog.pid();
  });
  REQUIRE(place != others.end());
  return place == others.begin();
}

constexpr const char* seconds = "1";

}  // namespace

TEST_CASE("doctor names by its number who takes the cores that decoding needs") {
  const PlantedJob job;
  const CpuHog hog;
  // Shorter than a sleep can be, so it is spent on the processor.
  const auto found =
      job.doctor({"delay.decode=300us", "threads.loader=2", "delay.consumer=1ms"}, 0, seconds);
  const std::string to_do = found.at("to_do");
  CAPTURE(to_do);
  CHECK(found.at("limit") == "preparation");
  REQUIRE(found.contains("advice"));
  CHECK(found.at("advice").at("rule") == "cpu-shared");
  CHECK(to_do.starts_with("renice -n 19 -p "));
  CHECK_FALSE(contains(to_do, "threads.loader"));
  const auto& environment = found.at("environment");
  const auto load = std::ranges::find_if(
      environment, [](const auto& finding) { return finding.at("what") == "load by others"; });
  REQUIRE(load != environment.end());
  CHECK(load->at("severity") == "warning");
  if (!is_busiest(found, hog)) return;
  CHECK(contains(found.at("advice").at("verdict"), hog.name()));
  CHECK(to_do.starts_with("renice -n 19 -p " + hog.pid()));
  CHECK(contains(load->at("found"), hog.name()));
}

TEST_CASE("who takes cores that sleeping threads do not need is not the one thing") {
  const PlantedJob job;
  const CpuHog hog;
  const auto found = job.doctor({"delay.decode=10ms", "batch=4"}, 0, seconds);
  CHECK_MESSAGE(contains(found.at("to_do"), "raise threads.loader 1 -> "), found.at("to_do"));
}
