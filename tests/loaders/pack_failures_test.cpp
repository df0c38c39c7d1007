#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/loaders/image/pack/verify_pack.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/no_more_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

/// Eight images; other `densities` in their headers make others of the same sizes.
void write_images(const fs::path& folder, int densities = 0) {
  for (int i = 0; i < 8; ++i) {
    test::Bytes jpeg = test::encode_jpeg({.width = 32, .height = 24},
                                         test::picture(32, 24, 3, static_cast<unsigned>(i)));
    jpeg[15] ^= static_cast<std::byte>(densities);
    test::write_bytes(folder / (std::to_string(i) + ".jpg"), jpeg);
  }
}

void set_times(const fs::path& folder, fs::file_time_type time) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) fs::last_write_time(entry.path(), time);
}

/// Packs three records and is stopped.
void begin_pack(const fs::path& data, const fs::path& file) {
  std::stop_source stop;
  PackOptions options{.file = file, .stop = stop.get_token()};
  options.on_progress = [&](const PackProgress& progress) {
    if (progress.records == 3) stop.request_stop();
  };
  CHECK(pack_images(ImageFolder(data), options).records == 3);
}

/// A manifest of the eight images: the second half has the label and the weight.
void write_manifest(const fs::path& file, const std::string& label, const std::string& weight) {
  std::ofstream out(file);
  out << "image,label,weight\n";
  for (int i = 0; i < 8; ++i)
    out << i << ".jpg," << (i < 4 ? label : "b") << "," << (i < 4 ? weight : "1") << "\n";
  out << "0.jpg,a,1\n";
}

}  // namespace

TEST_CASE("a pack whose manifest gives other labels or weights meanwhile begins anew") {
  const test::TemporaryFolder root;
  write_images(root / "data");
  const fs::path manifest = root / "data/m.csv";
  for (const bool label : {true, false}) {
    CAPTURE(label);
    write_manifest(manifest, "a", "1");
    std::stop_source stop;
    PackOptions options{.file = root / (label ? "label.pack" : "weight.pack"),
                        .stop = stop.get_token()};
    options.on_progress = [&](const PackProgress& progress) {
      if (progress.records == 3) stop.request_stop();
    };
    CHECK(pack_images(ImageManifest(manifest), options).records == 3);
    write_manifest(manifest, label ? "b" : "a", label ? "1" : "2.5");
    options.stop = {};
    options.on_progress = {};
    const ImageManifest edited(manifest);
    CHECK(pack_images(edited, options).resumed == 0);
    const ImagePack pack(options.file);
    CHECK(pack.labels() == edited.labels());
    CHECK(pack.weights() == edited.weights());
  }
}

TEST_CASE(
    "a pack begun of one folder is not gone on with for another of the same names and sizes") {
  const test::TemporaryFolder root;
  const fs::file_time_type time = fs::file_time_type::clock::now();
  for (const char* name : {"a", "b"}) {
    write_images(root / name / "all", name[0] - 'a');
    set_times(root / name, time);
  }
  pack_images(ImageFolder(root / "b"), {.file = root / "whole.pack"});
  const auto whole = test::file_bytes(root / "whole.pack");
  const fs::path file = root / "data.pack";
  begin_pack(root / "a", file);
  CHECK(pack_images(ImageFolder(root / "b"), {.file = file}).resumed == 0);
  CHECK(test::file_bytes(file) == whole);

  // The other folder takes the name: the content says it.
  begin_pack(root / "a", file);
  fs::rename(root / "a", root / "before");
  fs::rename(root / "b", root / "a");
  CHECK(pack_images(ImageFolder(root / "a"), {.file = file}).resumed == 0);
  CHECK(test::file_bytes(file) == whole);  // wherever it lay

  // One is written anew: its time says it.
  begin_pack(root / "a", file);
  fs::last_write_time(root / "a/all/7.jpg", time + std::chrono::seconds(1));
  CHECK(pack_images(ImageFolder(root / "a"), {.file = file}).resumed == 0);
  begin_pack(root / "a", file);
  CHECK(pack_images(ImageFolder(root / "a"), {.file = file}).resumed == 3);
}

TEST_CASE(
    "lack of descriptors ends packing and verifying, on whatever thread, and blames no file") {
  const test::TemporaryFolder root;
  write_images(root / "data/all");
  const ImageFolder folder(root / "data");
  const fs::path file = root / "data.pack";
  pack_images(folder, {.file = file, .crop_index = true});
  const ImagePack pack(file);
  PackOptions again{.file = root / "again.pack", .threads = 4, .skip_bad = true};
  {
    const test::NoMoreFiles limit;
    CHECK_THROWS_AS(verify_pack(pack, &folder, {.threads = 4}), ResourceError);
    CHECK_THROWS_AS(pack_images(folder, again), ResourceError);
    CHECK_THROWS_AS(ImagePack{file}, ResourceError);
  }
  CHECK(verify_pack(pack, &folder, {.threads = 4}).damaged == 0);
}
