#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::Hdf5Table;
using headrace::Sample;
using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

namespace fs = std::filesystem;

const fs::path data_set = "/usr/share/datasets/fashion-mnist";

Finished prepare(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words{"prepare", "glaucoma", "--output", "out/data.h5"};
  words.insert(words.end(), more.begin(), more.end());
  return run_headrace(folder.path(), words);
}

Hdf5Table open_table(const fs::path& file) {
  return Hdf5Table({.file = file,
                    .fields = {{.name = "rnfl", .dataset = "/features/rnfl_input"},
                               {.name = "macular", .dataset = "/features/macular_input"},
                               {.name = "labels", .dataset = "/labels"},
                               {.name = "split", .dataset = "/split"}}});
}

int class_of(const Sample& sample) {
  const auto row = sample["labels"].values<std::uint8_t>();
  CHECK(std::count(row.begin(), row.end(), 1) == 1);
  CHECK(std::count(row.begin(), row.end(), 0) == 4);
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

TEST_CASE("prepare glaucoma writes the five classes of Fashion-MNIST, and keeps a valid file") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const Finished first = prepare(folder, {"--limit", "120"});
  REQUIRE_MESSAGE(first.status == 0, first.err);
  const fs::path file = folder.path() / "out/data.h5";
  const headrace::Tensor images = headrace::read_idx(data_set / "train-images-idx3-ubyte.gz");
  const headrace::Tensor labels = headrace::read_idx(data_set / "train-labels-idx1-ubyte.gz");
  {
    const Hdf5Table table = open_table(file);
    REQUIRE(table.size() == 140);
    constexpr std::array<int, 5> classes{0, 2, 3, 4, 6};
    std::int64_t image = -1;
    Sample sample;
    for (std::int64_t i = 0; i < 140; ++i) {
      sample.reset();
      table.read(i, sample);
      CHECK(sample["split"].item<std::uint8_t>() == (i < 120 ? 0 : 1));
      const int label = class_of(sample);
      if (i >= 120) continue;
      const auto wanted = [&] {
        return std::find(classes.begin(), classes.end(),
                         labels.values<std::uint8_t>()[static_cast<std::size_t>(image)]);
      };
      for (++image; wanted() == classes.end();)
        ++image;
      CHECK(wanted() - classes.begin() == label);
      const auto original = images.row(image).values<std::uint8_t>();
      const auto map = sample["rnfl"].values<std::uint8_t>();
      CHECK(std::equal(map.begin(), map.end(), original.begin(), original.end()));
    }
  }
  const auto written = fs::last_write_time(file);
  const Finished again = prepare(folder, {"--limit", "120"});
  CHECK(again.status == 0);
  CHECK(contains(again.err, "kept"));
  CHECK(fs::last_write_time(file) == written);
}

TEST_CASE("prepare glaucoma replaces a file of another recipe, or of none") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "out/data.h5";
  REQUIRE(prepare(folder, {"--limit", "60"}).status == 0);
  REQUIRE(prepare(folder, {"--limit", "60", "--side", "40"}).status == 0);
  const headrace::Shape larger{40, 40};
  CHECK(open_table(file).fields().at("macular").shape == larger);
  fs::resize_file(file, 5000);
  REQUIRE(prepare(folder, {"--limit", "60", "--side", "40"}).status == 0);
  CHECK(open_table(file).size() == 70);
  const auto entries = fs::directory_iterator(folder.path() / "out");
  CHECK(std::distance(begin(entries), end(entries)) == 1);
}

TEST_CASE("prepare glaucoma refuses a folder that cannot be made") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const Finished finished =
      run_headrace(folder.path(), {"prepare", "glaucoma", "--output", "/proc/none/data.h5"});
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "/proc/none"));
}
