#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

}  // namespace

TEST_CASE("inspect shows fields, ranges and classes of the leak job's files, and says: no sheet") {
  const TemporaryFolder folder;
  headrace::test::write_leak_sounds(folder.path() / "sounds");
  REQUIRE(run_headrace(folder.path(),
                       {"prepare", "leak", "--sounds", "sounds", "--output", "out", "--limit", "8"})
              .status == 0);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: leak\ndevice: cuda\naugment: [spec_augment]\n"
         "data: {training: out/training.h5, validation: out/validation.h5, "
         "testing: out/testing.h5, residence: device, resident: 1KiB}\n";
  const Finished found =
      run_headrace(folder.path(), {"inspect", "job.yaml", "--json", "found.json"});
  REQUIRE_MESSAGE(found.status == 0, found.err);
  CHECK(contains(found.out, "training: hdf5 out/training.h5\n"));
  CHECK(contains(found.out, "records   640 of 640 looked at, 0 bad"));
  CHECK(contains(found.out, "mel    float16  [64, 5]  -"));
  CHECK(contains(found.out, "testing: "));
  CHECK(contains(found.out, "LEAK"));
  CHECK(contains(found.out, "no contact sheet: {mel: float16 [64, 5], label: int64 []} holds no"));
  CHECK_FALSE(fs::exists(folder.path() / "inspect.png"));
  const auto json = nlohmann::json::parse(content_of(folder.path() / "found.json"));
  REQUIRE(json.at("parts").size() == 3);
  for (const auto& part : json.at("parts")) {
    const auto& counts = part.at("fields").at(1).at("counts");
    CHECK(counts.at(0).at("name") == "other");
    CHECK(counts.at(1).at("name") == "LEAK");
    CHECK(counts.at(0).at("samples") == counts.at(1).at("samples"));
    CHECK(part.at("fields").at(0).at("most") > part.at("fields").at(0).at("mean"));
  }
}
