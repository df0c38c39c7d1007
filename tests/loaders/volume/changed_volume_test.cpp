// Files of volumes that are changed while they are read, or behind what is kept of them.
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_patches.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/volume_stores.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;
namespace fs = std::filesystem;

namespace {

fs::path copied(const TemporaryFolder& folder, const std::string& name) {
  const fs::path to = folder / name;
  fs::create_directories(to.parent_path());
  fs::copy_file(fs::path(source_folder()) / "tests/loaders/volume/data" / to.filename(), to);
  return to;
}

void set_later(const fs::path& file) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(3));
}

void read_first(const Volume& volume) {
  std::vector<std::byte> block(volume.info().block_bytes());
  volume.read_block({}, block);
}

/// Opens `path`, reads, changes `file`, and reads again.
void check_noticed(const fs::path& path, const fs::path& file) {
  CAPTURE(file);
  const auto volume = open_volume(path);
  read_first(*volume);
  read_first(*volume);
  const auto bytes = std::to_string(fs::file_size(file));
  set_later(file);
  CHECK_THROWS_WITH_AS(read_first(*volume), doctest::Contains(file.filename().c_str()),
                       PipelineError);
  CHECK_THROWS_WITH_AS(read_first(*volume), doctest::Contains(("was " + bytes + " bytes").c_str()),
                       PipelineError);
  read_first(*open_volume(path));  // anew it is another
}

void write_pair(const fs::path& header, int value) {
  const VolumeInfo info{.shape = {1, 4, 5, 6}, .block = {1, 4, 5, 6}};
  const fs::path whole = header.parent_path() / "whole.nii";
  write_nifti(whole, info, std::vector<std::byte>(120, static_cast<std::byte>(value)));
  std::ifstream in(whole, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::string head = bytes.substr(0, 348);
  const float begin = 0;
  std::memcpy(head.data() + 108, &begin, sizeof begin);
  head.replace(344, 4, std::string("ni1\0", 4));
  std::ofstream(header, std::ios::binary) << head;
  std::ofstream(fs::path(header).replace_extension(".img"), std::ios::binary)
      << bytes.substr(bytes.size() - 120);
}

/// Nothing where it needs Blosc2, which this build lacks.
std::shared_ptr<const Volume> open_without_blosc(const fs::path& path) {
  try {
    auto volume = open_volume(path);
    read_first(*volume);
    return volume;
  } catch (const Error&) {
    if (has_blosc) throw;
    return nullptr;
  }
}

ForegroundIndex index_of(const fs::path& file) {
  const CachedVolume labels(open_volume(file), std::make_shared<BlockCache>(1 << 20));
  return ForegroundIndex::of_file(labels, file);
}

}  // namespace

TEST_CASE(
    "a volume's file that is changed while it is read ends the reading, whatever its format") {
  const TemporaryFolder folder;
  for (const char* name : {"n1-u2-little.nii", "n1-big.nii.gz", "plain-u2.tif", "deflate-u2.tif"})
    check_noticed(copied(folder, name), folder / name);
  copied(folder, "pair.hdr");
  check_noticed(folder / "pair.hdr", copied(folder, "pair.img"));
  write_chunk_store(*open_volume(folder / "plain-u2.tif"), {.file = folder / "a.hrv"});
  check_noticed(folder / "a.hrv", folder / "a.hrv");
}

TEST_CASE("a volume's file that is cut while it is read is told from one that was short before") {
  const TemporaryFolder folder;
  const fs::path file = copied(folder, "n1-u2-little.nii");
  const auto volume = open_volume(file);
  const auto bytes = fs::file_size(file);
  fs::resize_file(file, bytes / 2);
  CHECK_THROWS_WITH_AS(
      read_first(*volume),
      doctest::Contains(("is " + std::to_string(bytes / 2) + " bytes of ").c_str()), PipelineError);
}

TEST_CASE(
    "a slice of a folder, and a chunk of an array, that is replaced between two reads is noticed") {
  const TemporaryFolder folder;
  const fs::path slices = folder / "slices";
  fs::create_directory(slices);
  const VolumeInfo info{.shape = {1, 1, 5, 6}, .block = {1, 1, 5, 6}};
  for (const char* name : {"0.tif", "1.tif"})
    write_tiff_volume(slices / name, info, std::vector<std::byte>(30, std::byte{1}));
  const auto volume = open_volume(slices);
  set_later(slices / "0.tif");
  CHECK_THROWS_WITH_AS(read_first(*volume), doctest::Contains("0.tif"), PipelineError);
  int arrays = 0;
  for (const StoredVolume& stored : unpack_stores("zarr", folder.path())) {
    if (stored.path.find("blosc") != std::string::npos || stored.hole_end[0] > 0) continue;
    CAPTURE(stored.path);
    const auto array = open_without_blosc(folder / stored.path);
    if (!array) continue;
    read_first(*array);
    for (const auto& entry : fs::recursive_directory_iterator(folder / stored.path))
      if (entry.is_regular_file()) set_later(entry.path());
    CHECK_THROWS_WITH_AS(read_first(*array), doctest::Contains("must stay as it is"),
                         PipelineError);
    ++arrays;
  }
  CHECK(arrays > 20);
}

TEST_CASE("a Blosc2 array that is changed while it is read ends the reading") {
  if (!has_blosc) return;
  const TemporaryFolder folder;
  for (const StoredVolume& stored : unpack_stores("b2nd", folder.path()))
    if (stored.hole_end[0] == 0) check_noticed(folder / stored.path, folder / stored.path);
}

TEST_CASE("no rule for bad samples passes over a file that was changed") {
  const TemporaryFolder folder;
  const auto cache = std::make_shared<BlockCache>(std::size_t{1} << 20);
  std::vector<VolumeCase> cases;
  for (const char* name : {"n1-u2-little.nii", "n1-u2-big.nii"}) {
    cases.push_back({.name = name});
    cases.back().images.push_back(
        std::make_shared<const CachedVolume>(open_volume(copied(folder, name)), cache));
  }
  const auto source = std::make_shared<VolumePatches>(
      std::move(cases), VolumePatchesOptions{.patch = {2, 2, 2}, .with_labels = false});
  set_later(folder / "n1-u2-big.nii");
  for (const auto rule : {BadSamples::Rule::replace, BadSamples::Rule::shrink}) {
    Loader loader = Pipeline::from(std::shared_ptr<const Source>(source))
                        .order(Sequential{})
                        .on_bad_sample({.rule = rule})
                        .batch({.size = 2})
                        .build({.runtime = Runtime({.threads = 1})});
    const std::string message = message_of<Error>([&] {
      for (Batch& batch : loader.epoch(0))
        CHECK(batch.size() == 2);
    });
    CHECK_MESSAGE(contains(message, (folder / "n1-u2-big.nii").string() + ": must stay as it is"),
                  message);
    CHECK_MESSAGE(contains(message, "sample 1 ("), message);
  }
}

TEST_CASE("a file that is replaced by another of its name is read on as it was") {
  const TemporaryFolder folder;
  const fs::path file = copied(folder, "n1-u2-little.nii");
  const auto volume = open_volume(file);
  fs::copy_file(file, folder / "new");
  set_later(folder / "new");
  fs::rename(folder / "new", file);
  read_first(*volume);
}

TEST_CASE("an index of foreground is made anew where any of a label's files was changed") {
  const TemporaryFolder folder;
  const fs::path header = folder / "a.hdr";
  write_pair(header, 1);
  CHECK(!index_of(header).was_kept());
  CHECK(index_of(header).was_kept());
  const fs::path voxels = folder / "a.img";
  const auto time = fs::last_write_time(voxels);
  const auto header_time = fs::last_write_time(header);
  write_pair(header, 2);  // of the same size and time
  fs::last_write_time(voxels, time);
  fs::last_write_time(header, header_time);
  CHECK(index_of(header).classes() == std::vector<std::int64_t>{2});
  set_later(voxels);
  CHECK(!index_of(header).was_kept());
  CHECK(index_of(header).was_kept());
  set_later(header);
  CHECK(!index_of(header).was_kept());
}
