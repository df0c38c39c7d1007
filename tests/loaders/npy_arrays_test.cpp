#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/npy/npy_files.h>
#include <headrace/loaders/npy/npy_folder.h>
#include <headrace/loaders/npy/npy_manifest.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// float32 [2, length] of first, first + 1, ...
void write_features(const fs::path& path, int length, float first) {
  std::vector<float> values(static_cast<std::size_t>(2 * length));
  std::iota(values.begin(), values.end(), first);
  test::write_array<float>(path, "2, " + std::to_string(length), values);
}

std::vector<float> features_of(const Source& source, std::int64_t index) {
  Sample sample;
  source.read(index, sample);
  const auto values = sample["features"].values<float>();
  return {values.begin(), values.end()};
}

std::string failure(const Source& source, std::int64_t index) {
  return test::message_of<DataError>([&] {
    Sample sample;
    source.read(index, sample);
  });
}

std::string npy_folder_refusal(const fs::path& root, const NpyFolderOptions& options = {}) {
  return test::message_of<ConfigError>([&] { NpyFolder(root, options); });
}

/// Two classes with arrays of two lengths.
struct ArrayFolder {
  ArrayFolder() {
    write_features(root / "a/deep/2.npy", 3, 10);
    write_features(root / "a/1.NPY", 4, 0);
    write_features(root / "b/3.npy", 3, 20);
    std::ofstream(root / "b/notes.txt") << "no";
    std::ofstream(root / "b/.npy") << "no";
  }
  test::TemporaryFolder root;
};

}  // namespace

TEST_CASE("a folder per class gives arrays padded along their last axis, and labels") {
  const ArrayFolder data;
  const NpyFolder folder(data.root.path());
  REQUIRE(folder.size() == 3);
  CHECK(folder.classes() == Names{"a", "b"});
  CHECK(folder.labels() == Labels{0, 0, 1});
  CHECK(folder.origin(1) == "a/deep/2.npy");
  CHECK(folder.fields().at("features") ==
        FieldSpec::padded("features", DType::float32, Shape{2, 4}));
  CHECK(features_of(folder, 0) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(features_of(folder, 2) == std::vector<float>{20, 21, 22, 23, 24, 25});
  Sample sample;
  folder.read(2, sample);
  CHECK(sample["features"].shape() == Shape{2, 3});
  CHECK(sample["label"].item<std::int64_t>() == 1);

  write_features(data.root / "a/1.NPY", 3, 0);
  const NpyFolder same(data.root.path(), {.field = "mel", .classes = {"b", "c", "a"}});
  CHECK(same.fields().at("mel") == FieldSpec::fixed("mel", DType::float32, Shape{2, 3}));
  CHECK(same.labels() == Labels{2, 2, 0});
}

TEST_CASE("arrays come in the machine's byte order") {
  const test::TemporaryFolder root;
  test::write_npy(root / "a/x.npy", "{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }",
                  std::string("\0\1\1\0", 4));
  const NpyFolder folder(root.path());
  Sample sample;
  folder.read(0, sample);
  CHECK(sample["features"].values<std::uint16_t>()[0] == 1);
  CHECK(sample["features"].values<std::uint16_t>()[1] == 256);
}

TEST_CASE("a manifest lists arrays with labels, groups, splits and weights") {
  const ArrayFolder data;
  std::ofstream(data.root / "list.csv")
      << "array,tags,patient,split,weight\nb/3.npy,x;y,p1,train,2\na/1.NPY,y,p2,test,1\n";
  const NpyManifest manifest(
      data.root / "list.csv",
      {.columns = {.path = "array", .label = "tags", .group = "patient", .label_separator = ";"}});
  REQUIRE(manifest.size() == 2);
  CHECK(manifest.multi_label());
  CHECK(manifest.label_set(0) == Labels{0, 1});
  CHECK(manifest.splits() == std::vector{DataSplit::train, DataSplit::test});
  CHECK(manifest.groups() == Labels{0, 1});
  CHECK(manifest.weights() == std::vector<double>{2, 1});
  CHECK(features_of(manifest, 0).front() == 20);
  Sample sample;
  manifest.read(1, sample);
  CHECK(sample["labels"].values<std::uint8_t>()[0] == 0);
  CHECK(sample["labels"].values<std::uint8_t>()[1] == 1);

  const auto refused = [&](const std::string& text, const NpyManifestOptions& options = {}) {
    std::ofstream(data.root / "bad.csv") << text;
    return test::message_of<ConfigError>([&] { NpyManifest(data.root / "bad.csv", options); });
  };
  CHECK(contains(refused("image,label\na/1.NPY,1\n"), "bad.csv:1: column \"path\" must be there"));
  CHECK(contains(refused("path,label\na/1.NPY,1\nno.npy,1\n"), "bad.csv:3: path no.npy: cannot"));
  CHECK(contains(refused("path\n../x.npy\n"), "must not go up"));
  CHECK(contains(refused("path\na/1.NPY\n", {.columns = {.mask = "m"}}), "arrays have no masks"));
}

TEST_CASE("sound arrays that differ in type or shape are refused, both named") {
  const ArrayFolder data;
  test::write_array<double>(data.root / "b/4.npy", "2, 1", std::vector<double>{1, 2});
  CHECK(
      contains(npy_folder_refusal(data.root.path()),
               "b/4.npy: must be as the first, a/1.NPY, float32 [2, 4] but for the last axis, got "
               "float64 [2, 1]; convert it"));
  test::write_array<float>(data.root / "b/4.npy", "3, 1", std::vector<float>{1, 2, 3});
  CHECK(contains(npy_folder_refusal(data.root.path()), "got float32 [3, 1]"));
  test::write_array<float>(data.root / "b/4.npy", "2,", std::vector<float>{1, 2});
  CHECK(contains(npy_folder_refusal(data.root.path()), "got float32 [2]"));
}

TEST_CASE("frames may differ before a last axis of one, which is the channel") {
  const test::TemporaryFolder root;
  const auto write = [&](const char* name, const char* shape, std::size_t values) {
    test::write_array<float>(root / name, shape, std::vector<float>(values, 1.0F));
  };
  write("a/1.npy", "2, 3, 1", 6);
  write("a/2.npy", "2, 3, 1", 6);
  CHECK(NpyFolder(root.path()).fields().at("features").shape == Shape{2, 3, 1});
  write("b/3.npy", "2, 5, 1", 10);
  write("b/4.npy", "2, 4, 1", 8);
  const NpyFolder folder(root.path());
  CHECK(folder.fields().at("features") ==
        FieldSpec::padded("features", DType::float32, Shape{2, 5}));
  Sample sample;
  for (const auto& [index, frames] : {std::pair{0, 3}, std::pair{1, 3}, std::pair{3, 4}}) {
    folder.read(index, sample);
    CHECK(sample["features"].shape() == Shape{2, frames});
    CHECK(folder.working_bytes(index) == static_cast<std::size_t>(8 * frames));
  }
  write("b/4.npy", "2, 4", 8);
  CHECK(contains(failure(folder, 3), "must be float32 [2, 4] as when it was listed, got"));
  CHECK(contains(npy_folder_refusal(root.path()), "b/4.npy: must be as the first"));
  write("b/4.npy", "3, 4, 1", 12);
  CHECK(contains(npy_folder_refusal(root.path()),
                 "got float32 [3, 4, 1]; frames come last, [bins, frames]: turn arrays that have "
                 "them first"));
}

TEST_CASE("broken files are bad samples, and no sound one is an error") {
  const ArrayFolder data;
  std::ofstream(data.root / "a/0.npy") << "no array";
  test::write_npy(data.root / "a/00.npy",
                  "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }",
                  std::string(8, '\0'));
  test::write_array<float>(data.root / "a/000.npy", "2, 0", {});
  const NpyFolder folder(data.root.path());
  REQUIRE(folder.size() == 6);
  CHECK(contains(failure(folder, 0), "a/0.npy: it is no .npy file"));
  CHECK(contains(failure(folder, 1), "a/00.npy: the array must be in C order"));
  CHECK(contains(failure(folder, 2), "a/000.npy: was broken or held no value when it was listed"));
  CHECK(failure(folder, 3).empty());
  CHECK(folder.fields().at("features").shape == Shape{2, 4});
  write_features(data.root / "a/1.NPY", 9, 0);
  CHECK(contains(failure(folder, 3),
                 "must be float32 [2, 4] as when it was listed, got float32 [2, 9]"));
  fs::resize_file(data.root / "a/1.NPY", 100);
  CHECK(contains(failure(folder, 3), "a/1.NPY"));
  fs::remove(data.root / "a/1.NPY");
  CHECK(contains(failure(folder, 3), "there is no such file"));

  const test::TemporaryFolder empty;
  fs::create_directories(empty / "a");
  std::ofstream(empty / "a/x.npy") << "no array";
  CHECK(contains(test::message_of<DataError>([&] { NpyFolder(empty.path()); }),
                 "no file can be read; the first: [npy]"));
}

TEST_CASE("folders and options that cannot be right are refused") {
  const ArrayFolder data;
  CHECK(contains(npy_folder_refusal(data.root / "nowhere"), "must be a folder of class folders"));
  CHECK(contains(npy_folder_refusal(data.root / "b"), "must hold one folder per class"));
  CHECK(contains(npy_folder_refusal(data.root.path(), {.field = "label"}),
                 "field must be a name that no"));
  CHECK(contains(npy_folder_refusal(data.root.path(), {.classes = {"a", "other"}}),
                 "b: must be one of the 2 classes"));
  fs::create_symlink("/etc/hostname", data.root / "a/out.npy");
  CHECK(contains(npy_folder_refusal(data.root.path()), "out.npy: link leaves the folder"));
  fs::remove(data.root / "a/out.npy");
  fs::create_directories(data.root / "c");
  CHECK(contains(npy_folder_refusal(data.root.path()),
                 "c: class folder must hold an array, got none"));
  fs::rename(data.root / "c", data.root / "caf\xe9");
  CHECK(contains(npy_folder_refusal(data.root.path()), "name of a class must be UTF-8"));
}

TEST_CASE("padded arrays are the same bytes for 1, 2 and 8 threads, with their lengths") {
  const test::TemporaryFolder root;
  for (int i = 0; i < 24; ++i)
    write_features(root / ("c" + std::to_string(i % 3)) / (std::to_string(i) + ".npy"), 1 + i % 5,
                   static_cast<float>(100 * i));
  const auto folder = std::make_shared<const NpyFolder>(root.path());
  std::vector<float> first;
  for (const int threads : {1, 2, 8}) {
    Loader loader = Pipeline::from(folder)
                        .order(Shuffled{.seed = 5})
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = threads})});
    std::vector<float> all;
    for (const std::int64_t epoch : {0, 1}) {
      for (Batch& batch : loader.epoch(epoch)) {
        const auto values = batch["features"].values<float>();
        all.insert(all.end(), values.begin(), values.end());
        for (const std::int64_t extent : batch["features_shape"].values<std::int64_t>())
          all.push_back(static_cast<float>(extent));
      }
    }
    CHECK(all.size() == std::size_t{2} * 24 * (2 * 5 + 2));
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST_CASE("arrays of which nothing is known come from a folder of any layout, or are one") {
  const ArrayFolder data;
  const NpyFiles all(data.root.path());
  REQUIRE(all.size() == 3);
  CHECK(all.classes().empty());
  CHECK(all.label(0) == -1);
  CHECK(all.fields().find("label") == nullptr);
  CHECK(all.origin(2) == "b/3.npy");
  CHECK(features_of(all, 2)[0] == 20);
  const NpyFiles one(data.root / "b/3.npy");
  CHECK(one.size() == 1);
  CHECK(features_of(one, 0)[0] == 20);
  fs::create_directories(data.root / "empty");
  CHECK(contains(test::message_of<ConfigError>([&] { NpyFiles files(data.root / "empty"); }),
                 "must hold a .npy file, got none"));
}
