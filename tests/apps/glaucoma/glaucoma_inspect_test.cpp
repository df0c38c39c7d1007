#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

/// Width and height of the PNG inspect.png.
std::vector<int> sheet_sides(const TemporaryFolder& folder) {
  const std::string sheet = content_of(folder.path() / "inspect.png");
  REQUIRE(sheet.size() > 24);
  std::vector<int> sides;
  for (const std::size_t at : {16U, 20U}) {
    int value = 0;
    for (std::size_t i = at; i < at + 4; ++i)
      value = value << 8 | static_cast<unsigned char>(sheet[i]);
    sides.push_back(value);
  }
  return sides;
}

}  // namespace

TEST_CASE("inspect shows the splits of the glaucoma job and pictures before they are normalised") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 60, 15);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: glaucoma\ndata: {file: data.h5}\ntraining: {batch: 16}\n"
         "augment: [flip, {mixup: {group: 4, soft_labels: true}}]\n";
  const Finished found = run_headrace(folder.path(), {"inspect", "job.yaml", "--samples", "5",
                                                      "--draws", "2", "--json", "found.json"});
  REQUIRE_MESSAGE(found.status == 0, found.err);
  CHECK(contains(found.out, "training: "));
  CHECK(contains(found.out, "records   60 of 60 looked at, 0 bad"));
  CHECK(contains(found.out, "image  uint8  [16, 16, 3]"));
  CHECK(contains(found.out, "test: "));
  CHECK(contains(found.out, "records   15 of 15 looked at, 0 bad"));
  CHECK(contains(found.out, "before they are normalised"));
  CHECK(sheet_sides(folder) == std::vector<int>{3 * 164 + 4, 5 * 164 + 4});
  const auto json = nlohmann::json::parse(content_of(folder.path() / "found.json"));
  CHECK(json.at("parts").at(1).at("fields").at(1).at("counts").at(4).at("samples") == 3);
  const Finished wrong =
      run_headrace(folder.path(), {"inspect", "job.yaml", "--set", "augment=[{resize: 8}]"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "validation and test are fed without the list"));
  CHECK_FALSE(contains(wrong.out, "looked at"));
}
