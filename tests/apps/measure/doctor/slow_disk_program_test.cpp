// A disk that is slow: the kernel holds back what a group of processes reads from it. Part of the
// long tier, for root alone.
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/measure/doctor/planted_job.h>
#include <headrace/tests/apps/planted/throttled_group.h>
#include <headrace/tests/support/skip.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

Finished doctor_in(const ThrottledGroup& group, const std::filesystem::path& folder,
                   const std::vector<std::string>& more) {
  std::vector<std::string> words = group.shell();
  words.insert(words.end(), {headrace::test::headrace_program(), "doctor"});
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words.front(), {words.begin() + 1, words.end()}, {.folder = folder});
}

}  // namespace

TEST_CASE("doctor names a disk that is slower than the step, and brings the data nearer") {
  const PlantedJob job;
  constexpr std::int64_t rows = 2048, width = 512;
  Hdf5Writer writer(job.path() / "rows.h5");
  writer.add("x", DType::float32, rows, {width});
  writer.append("x", Tensor::zeros(DType::float32, {rows, width}));
  writer.finish();
  const std::vector<std::string> from_file{
      "loader.yaml",
      "--seconds",
      "2",
      "--json",
      "doctor.json",
      "--set",
      "data={source: hdf5, file: rows.h5, datasets: [x], resident: 1MiB}",
      "--set",
      "shuffle=true",
      "--set",
      "delay.consumer=5ms"};
  // Once without: what the program itself reads from the disk is in memory then.
  std::vector<std::string> words{"doctor"};
  words.insert(words.end(), from_file.begin(), from_file.end());
  const Finished quick =
      run_program(headrace::test::headrace_program(), words, {.folder = job.path()});
  REQUIRE_MESSAGE(quick.status == 0, quick.err);
  const auto without = nlohmann::json::parse(content_of(job.path() / "doctor.json"));
  if (!without.at("ceilings").at("storage").at("cold").get<bool>())
    return skip("needs a temporary folder on a disk");
  const ThrottledGroup group(job.path(), 1 << 20);
  if (!group.works()) return skip("needs a disk that the kernel can hold back (root, cgroups)");
  const Finished slow = doctor_in(group, job.path(), from_file);
  REQUIRE_MESSAGE(slow.status == 0, slow.err);
  std::printf("%s", slow.out.c_str());
  const auto found = nlohmann::json::parse(content_of(job.path() / "doctor.json"));
  CAPTURE(slow.out);
  CHECK(without.at("limit") == "device");
  CHECK(found.at("limit") == "storage");
  CHECK(found.at("storage_verdict").at("stage") == "read");
  REQUIRE(found.contains("advice"));
  if (found.at("ceilings").at("storage").contains("io_pressure_share"))
    CHECK(found.at("advice").at("rule") == "faster-storage");
  CHECK(contains(found.at("to_do"), "data.resident 1MiB -> "));
  const auto& environment = found.at("environment");
  const auto speed = std::ranges::find_if(environment, [](const nlohmann::json& finding) {
    return finding.at("what") == "read speed of the data";
  });
  REQUIRE(speed != environment.end());
  CHECK(speed->at("severity") == "warning");
  CHECK(contains(speed->at("wanted"), "for the step"));
}
