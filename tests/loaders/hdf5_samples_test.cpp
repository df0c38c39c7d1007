#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;

constexpr std::array past_library{Residence::resident, Residence::pread};
constexpr std::array sample_ways{Residence::resident, Residence::pread, Residence::library};

/// [files, long, short, mels, frames] with a label a file and a weight a long segment.
void write_segments(const fs::path& path, hsize_t files, const std::vector<hsize_t>& chunk,
                    std::uint16_t first) {
  const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
  std::vector<std::uint16_t> mel(files * 4 * 2 * 6 * 5);
  std::iota(mel.begin(), mel.end(), first);
  write(file, {"mel", P::STD_U16LE, {files, 4, 2, 6, 5}, chunk, chunk.empty() ? 0U : 3U},
        mel.data(), P::NATIVE_UINT16);
  std::vector<std::int16_t> label(files), weight(files * 4 * 3);
  std::iota(label.begin(), label.end(), static_cast<std::int16_t>(first / 8));
  std::iota(weight.begin(), weight.end(), std::int16_t{7});
  write(file, {"label", P::STD_I16BE, {files}}, label.data(), P::NATIVE_INT16);
  write(file, {"weight", P::STD_I16LE, {files, 4, 3}}, weight.data(), P::NATIVE_INT16);
}

Hdf5TableOptions segments(const fs::path& path, Residence residence) {
  return {.file = path,
          .fields = {{.dataset = "mel"}, {.dataset = "label"}, {.dataset = "weight", .axes = 2}},
          .residence = residence,
          .sample_axes = 3};
}

template <class T>
std::vector<T> as(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("leading axes become samples, and values of outer axes belong to all of them") {
  const TemporaryFolder folder;
  const auto path = folder / "segments.h5";
  for (const std::vector<hsize_t>& chunk :
       {std::vector<hsize_t>{}, {1, 4, 2, 6, 5}, {2, 3, 2, 4, 5}}) {
    write_segments(path, 3, chunk, 0);
    for (const Residence residence : sample_ways) {
      const Hdf5Table table(segments(path, residence));
      CHECK(to_string(table.fields()) ==
            "{mel: uint16 [6, 5], label: int16 [], weight: int16 [3]}");
      REQUIRE(table.size() == 24);
      CHECK(table.origin(13) == path.string() + ":mel[1, 2, 1]");
      const std::vector<std::int64_t> indices{23, 0, 13, 13, 8, 7};
      const auto rows = gathered(table, indices);
      CHECK(rows == one_by_one(table, indices));
      std::vector<std::uint16_t> mel;
      std::vector<std::int16_t> label, weight;
      for (const std::int64_t index : indices) {
        for (std::int64_t i = 0; i < 30; ++i)
          mel.push_back(static_cast<std::uint16_t>(30 * index + i));
        label.push_back(static_cast<std::int16_t>(index / 8));
        for (std::int64_t i = 0; i < 3; ++i)
          weight.push_back(static_cast<std::int16_t>(7 + 3 * (index / 2) + i));
      }
      CHECK(as<std::uint16_t>(rows[0]) == mel);
      CHECK(as<std::int16_t>(rows[1]) == label);
      CHECK(as<std::int16_t>(rows[2]) == weight);
    }
  }
}

TEST_CASE("axes that do not fit together are refused") {
  const TemporaryFolder folder;
  const auto path = folder / "axes.h5";
  write_segments(path, 3, {}, 0);
  const auto message = [&](std::vector<Hdf5Field> fields, int axes) {
    return message_of<ConfigError>(
        [&] { Hdf5Table({.file = path, .fields = std::move(fields), .sample_axes = axes}); });
  };
  CHECK(contains(message({{.dataset = "mel"}, {.dataset = "weight"}}, 3), "3 x 4 x 3"));
  CHECK(contains(message({{.dataset = "mel"}}, 0), "at least 1, got 0"));
  CHECK(contains(message({{.dataset = "mel", .axes = -1}}, 1), "must not be negative"));
  CHECK_THROWS_AS(Hdf5Table({.file = path, .fields = {{.dataset = "label", .axes = 2}}}),
                  DataError);
}

TEST_CASE("several files are one table, and the origin names file and place") {
  const TemporaryFolder folder;
  write_segments(folder / "a.h5", 3, {}, 0);
  write_segments(folder / "b.h5", 1, {1, 2, 2, 6, 5}, 720);
  write_segments(folder / "c.h5", 2, {}, 960);
  for (const Residence residence : sample_ways) {
    Hdf5TableOptions options = segments(folder / "a.h5", residence);
    options.more_files = {folder / "b.h5", folder / "c.h5"};
    const Hdf5Table table(options);
    REQUIRE(table.size() == 48);
    const std::vector<std::int64_t> indices{47, 24, 0, 31, 32, 23, 40};
    const auto rows = gathered(table, indices);
    CHECK(rows == one_by_one(table, indices));
    const auto mel = as<std::uint16_t>(rows[0]);
    const auto label = as<std::int16_t>(rows[1]);
    for (std::size_t k = 0; k < indices.size(); ++k)
      CHECK(mel[30 * k] == 30 * indices[k]);
    CHECK(label == std::vector<std::int16_t>{121, 90, 0, 90, 120, 2, 121});
    CHECK(table.origin(23) == (folder / "a.h5").string() + ":mel[2, 3, 1]");
    CHECK(table.origin(24) == (folder / "b.h5").string() + ":mel[0, 0, 0]");
    CHECK(table.origin(41) == (folder / "c.h5").string() + ":mel[1, 0, 1]");
  }
}

TEST_CASE("files of one table need the same fields") {
  const TemporaryFolder folder;
  write_segments(folder / "a.h5", 3, {}, 0);
  const std::vector<std::uint8_t> other(3 * 4 * 2 * 6 * 5);
  write(H5::H5File((folder / "b.h5").c_str(), H5F_ACC_TRUNC), {"mel", P::STD_U8LE, {3, 4, 2, 6, 5}},
        other.data(), P::NATIVE_UINT8);
  const std::string message = message_of<ConfigError>([&] {
    Hdf5Table(
        {.file = folder / "a.h5", .fields = {{.dataset = "mel"}}, .more_files = {folder / "b.h5"}});
  });
  CHECK(contains(message, "b.h5"));
  CHECK(contains(message, "uint16"));
}

TEST_CASE("a group stands for its datasets, those of other files and groups excepted") {
  const TemporaryFolder folder;
  const auto path = folder / "groups.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::Group group = file.createGroup("features");
    group.createGroup("inner");
    write(file, {"features/b", P::STD_U8LE, {4}}, "abcd", P::NATIVE_UINT8);
    write(file, {"features/a", P::STD_U8LE, {4}}, "efgh", P::NATIVE_UINT8);
    write(file, {"label", P::STD_U8LE, {4}}, "0123", P::NATIVE_UINT8);
    H5Lcreate_external("else.h5", "/x", group.getId(), "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.getId(), "features", group.getId(), "cycle", H5P_DEFAULT, H5P_DEFAULT);
  }
  const Hdf5Table table({.file = path, .fields = {{.dataset = "/features"}, {.dataset = "label"}}});
  CHECK(to_string(table.fields()) == "{a: uint8 [], b: uint8 [], label: uint8 []}");
  CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "features/cycle/cycle/a"}}}).size() == 4);
  CHECK_THROWS_AS(Hdf5Table({.file = path, .fields = {{.dataset = "features/inner"}}}),
                  ConfigError);
}

TEST_CASE("attributes come as numbers and texts") {
  const TemporaryFolder folder;
  const auto path = folder / "attributes.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    write(file, {"x", P::STD_U8LE, {4}}, "abcd", P::NATIVE_UINT8);
    const H5::StrType fixed(P::C_S1, 6), any(P::C_S1, H5T_VARIABLE);
    file.createAttribute("fixed", fixed, H5::DataSpace(H5S_SCALAR)).write(fixed, "leak\0\0");
    const char* text = "{\"LEAK\": 2}";
    file.createAttribute("labels", any, H5::DataSpace(H5S_SCALAR)).write(any, &text);
    const hsize_t two = 2;
    const std::int32_t rates[2]{4096, 10};
    file.openDataSet("x")
        .createAttribute("rates", P::STD_I32BE, H5::DataSpace(1, &two))
        .write(P::NATIVE_INT32, rates);
    const H5::CompType pair(std::size_t{8});
    pair.insertMember("a", 0, P::STD_I32LE);
    file.createAttribute("pair", pair, H5::DataSpace(H5S_SCALAR));
  }
  CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "x"}}}).attributes().empty());
  const Hdf5Table some(
      {.file = path, .fields = {{.dataset = "x"}}, .attributes = {"rates", "absent", "fixed"}});
  REQUIRE(some.attributes().size() == 2);
  CHECK(some.attributes()[0].object == "/");
  CHECK(some.attributes()[1].name == "rates");
  const Hdf5Table table({.file = path, .fields = {{.dataset = "x"}}, .attributes = {"*"}});
  const auto& attributes = table.attributes();
  REQUIRE(attributes.size() == 3);
  CHECK(attributes[0].name == "fixed");
  CHECK(attributes[0].text == "leak");
  CHECK(attributes[1].object == "/");
  CHECK(attributes[1].text == "{\"LEAK\": 2}");
  CHECK(attributes[2].object == "x");
  CHECK(attributes[2].value.values<std::int32_t>()[0] == 4096);
  CHECK(attributes[2].value.values<std::int32_t>()[1] == 10);
}

TEST_CASE("a staged file is read from its copy, which leaves nothing behind") {
  const TemporaryFolder folder;
  const auto path = folder / "staged.h5";
  fs::create_directory(folder / "stage");
  write_segments(path, 3, {1, 4, 2, 6, 5}, 0);
  std::vector<std::string> log;
  for (const Residence residence : past_library) {
    Hdf5TableOptions options = segments(path, residence);
    const auto expected = gathered(Hdf5Table(options), scattered(24, 50));
    options.stage = folder / "stage";
    options.log = [&](LogLevel, std::string_view line) { log.emplace_back(line); };
    std::vector<StageProgress> told;
    options.on_stage = [&](const StageProgress& copy) { told.push_back(copy); };
    const Hdf5Table table(options);
    REQUIRE(told.size() == 1);  // the file is smaller than a piece
    CHECK(told[0].file == path);
    CHECK(told[0].done == fs::file_size(path));
    CHECK(told[0].all == told[0].done);
    CHECK(contains(log[0], "copied and checked"));
    const auto other = folder / "other.h5";
    fs::copy_file(path, other);
    std::ofstream(path) << "gone";  // the table does not care any more
    CHECK(gathered(table, scattered(24, 50)) == expected);
    fs::rename(other, path);
    CHECK(fs::is_empty(folder / "stage"));
  }
  Hdf5TableOptions options = segments(path, Residence::pread);
  options.stage = folder / "absent";
  CHECK(contains(message_of<ConfigError>([&] { Hdf5Table table(options); }), "absent"));
}

}  // namespace headrace::test
