#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/chunk_store_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::all_voxels;
using test::Bytes;
using test::contains;
using test::file_bytes;
using test::MadeVolume;
using test::numbered;
using test::odd_volume;
namespace fs = std::filesystem;

namespace {

constexpr std::array<std::int64_t, 3> small_chunk{4, 5, 3};

template <class T>
T noise(const VolumeIndex& at) {
  const auto mixed = static_cast<std::uint64_t>(numbered<std::int64_t>(at)) * 0x9e3779b97f4a7c15U;
  if constexpr (std::is_same_v<T, bool>) {
    return (mixed >> 40 & 1) != 0;
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), &mixed, sizeof value);
    return value;
  }
}

/// A store of the source holds its voxels, with each codec.
template <class T>
void check_round_trip(const std::function<T(const VolumeIndex&)>& voxel) {
  const test::TemporaryFolder root;
  const MadeVolume<T> source(odd_volume, voxel);
  for (const auto codec : {ChunkStoreCodec::raw, ChunkStoreCodec::lz4, ChunkStoreCodec::zstd}) {
    const ChunkStoreProgress done = write_chunk_store(
        source,
        {.file = root / "a.hrv", .chunk = small_chunk, .codec = codec, .level = 1, .threads = 2});
    CHECK(done.finished);
    CHECK(done.chunks == 2 * 2 * 2 * 4);
    const ChunkStoreVolume store(root / "a.hrv");
    CHECK(store.info().dtype == dtype_of<T>);
    CHECK(store.info().shape == odd_volume.shape);
    CHECK(store.info().block == VolumeIndex{1, 4, 5, 3});
    CHECK(store.codec() == codec);
    CHECK(all_voxels(store) == all_voxels(source));
    CHECK_FALSE(fs::exists(root / "a.hrv.partial"));
  }
}

template <class T>
void check_round_trips() {
  CAPTURE(name_of(dtype_of<T>));
  check_round_trip<T>([](const VolumeIndex& at) { return noise<T>(at); });
  check_round_trip<T>([](const VolumeIndex& at) { return noise<T>({0, 0, 0, at[3] / 4}); });
}

std::vector<float> floats_of(const Volume& volume) {
  const Bytes stored = all_voxels(volume);
  std::vector<float> values(stored.size() / size_of(volume.info().dtype));
  to_float(volume.info(), stored, values.data());
  return values;
}

/// What a store of `source` with these options holds, as floats.
std::vector<float> stored_floats(const Volume& source, ChunkStoreOptions options) {
  const test::TemporaryFolder root;
  options.file = root / "a.hrv";
  options.chunk = small_chunk;
  write_chunk_store(source, options);
  return floats_of(ChunkStoreVolume(options.file));
}

float wave(const VolumeIndex& at) {
  return -300.0F + 1000.0F * std::sin(0.37F * static_cast<float>(numbered<int>(at)));
}

double largest_error(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double error = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    error = std::max(error, std::abs(double{a[i]} - double{b[i]}));
  return error;
}

/// Bytes of a store written without a break.
Bytes whole_file(const Volume& source, ChunkStoreOptions options) {
  const test::TemporaryFolder root;
  options.file = root / "whole.hrv";
  write_chunk_store(source, options);
  return file_bytes(options.file);
}

}  // namespace

TEST_CASE("a store holds the voxels of every dtype with every codec") {
  check_round_trips<std::uint8_t>();
  check_round_trips<std::int8_t>();
  check_round_trips<std::uint16_t>();
  check_round_trips<std::int16_t>();
  check_round_trips<std::uint32_t>();
  check_round_trips<std::int32_t>();
  check_round_trips<std::uint64_t>();
  check_round_trips<std::int64_t>();
  check_round_trips<float16_t>();
  check_round_trips<bfloat16_t>();
  check_round_trips<float>();
  check_round_trips<double>();
  check_round_trips<bool>();
}

TEST_CASE("a store keeps spacing, affine, scale and offset") {
  const test::TemporaryFolder root;
  VolumeInfo info = odd_volume;
  info.scale = 0.25;
  info.offset = -1024.0;
  info.spacing = {5.0, 0.7, 0.6};
  info.affine = {-0.6, 0, 0, 10, 0, 0.7, 0, -20, 0, 0, 5, 30.5};
  const MadeVolume<std::int16_t> source(info, numbered<std::int16_t>);
  write_chunk_store(source, {.file = root / "a.hrv"});
  const ChunkStoreVolume store(root / "a.hrv");
  CHECK(store.info().scale == 0.25);
  CHECK(store.info().offset == -1024.0);
  CHECK(store.info().spacing == info.spacing);
  CHECK(store.info().affine == info.affine);
  CHECK(store.info().block == VolumeIndex{1, 7, 9, 11});  // no larger than the volume
}

TEST_CASE("a chunk of one value takes no room, one that packing would grow is stored as it is") {
  const test::TemporaryFolder root;
  const auto source = test::mixed_volume();
  const ChunkStoreProgress done = write_chunk_store(
      source, {.file = root / "a.hrv", .chunk = {4, 9, 11}, .codec = ChunkStoreCodec::lz4});
  CHECK(done.constant == 2);
  const ChunkStoreVolume store(root / "a.hrv");
  CHECK(all_voxels(store) == all_voxels(source));
  Bytes block(store.info().block_bytes());
  CHECK(store.read_block({0, 0, 0, 0}, block) == 0);
  CHECK(store.read_block({0, 1, 0, 0}, block) < block.size());
  CHECK(store.read_block({1, 1, 0, 0}, block) == block.size());
}

TEST_CASE("a volume of one voxel becomes a store of one chunk without bytes") {
  const test::TemporaryFolder root;
  const MadeVolume<float> one({.shape = {1, 1, 1, 1}, .block = {1, 1, 1, 1}},
                              [](const VolumeIndex&) { return -2.5F; });
  write_chunk_store(one, {.file = root / "a.hrv"});
  CHECK(fs::file_size(root / "a.hrv") == 4096 + 32);
  CHECK(floats_of(ChunkStoreVolume(root / "a.hrv")) == std::vector<float>{-2.5F});
}

TEST_CASE("the bytes do not depend on threads") {
  const auto source = test::mixed_volume();
  const Bytes one = whole_file(source, {.chunk = small_chunk, .codec = ChunkStoreCodec::zstd});
  for (const int threads : {2, 8}) {
    CHECK(whole_file(source,
                     {.chunk = small_chunk, .codec = ChunkStoreCodec::zstd, .threads = threads}) ==
          one);
  }
}

TEST_CASE("a run stopped after any chunk is gone on with, and gives the same bytes") {
  const MadeVolume<float> source(odd_volume, wave);
  for (const std::optional<DType> dtype : {std::optional<DType>(), {DType::int16}}) {
    ChunkStoreOptions options{.chunk = small_chunk, .dtype = dtype, .threads = 2};
    const Bytes whole = whole_file(source, options);
    for (std::int64_t last = 1; last <= 32; ++last) {
      CAPTURE(last);
      const test::TemporaryFolder root;
      options.file = root / "a.hrv";
      std::stop_source stop;
      options.stop = stop.get_token();
      options.on_progress = [&](const ChunkStoreProgress& progress) {
        if (!progress.scanning && progress.chunks == last) stop.request_stop();
      };
      const ChunkStoreProgress first = write_chunk_store(source, options);
      CHECK(first.finished == (last == 32));
      CHECK(first.chunks == last);
      options.stop = {};
      bool scanned = false;
      options.on_progress = [&](const ChunkStoreProgress& progress) {
        scanned = scanned || progress.scanning;
      };
      if (!first.finished) {
        CHECK_FALSE(fs::exists(options.file));
        const ChunkStoreProgress second = write_chunk_store(source, options);
        CHECK(second.resumed == last);
        CHECK(second.finished);
        CHECK_FALSE(scanned);  // what it would find is in the file
      }
      REQUIRE(file_bytes(options.file) == whole);
    }
  }
}

TEST_CASE("what a killed run leaves at any moment is gone on with, and gives the same bytes") {
  const auto source = test::mixed_volume();
  const test::TemporaryFolder root;
  ChunkStoreOptions options{.file = root / "a.hrv", .chunk = small_chunk};
  std::vector<Bytes> left;
  options.on_progress = [&](const ChunkStoreProgress&) {
    left.push_back(file_bytes(root / "a.hrv.partial"));
  };
  write_chunk_store(source, options);
  const Bytes whole = file_bytes(options.file);
  options.on_progress = {};
  REQUIRE(left.size() == 32);
  Bytes half = whole;
  half.resize(whole.size() - 1000);
  left.push_back(half);         // finished but for its end
  left.push_back(Bytes(10));    // no header yet
  left.push_back(Bytes(9000));  // not ours
  for (const Bytes& bytes : left) {
    fs::remove(options.file);
    test::write_bytes(root / "a.hrv.partial", bytes);
    CHECK(write_chunk_store(source, options).finished);
    CHECK(file_bytes(options.file) == whole);
  }
}

TEST_CASE("other options, another source or another mark begin a new file") {
  const test::TemporaryFolder root;
  const auto interrupt = [&](const Volume& source, ChunkStoreOptions options) {
    std::stop_source stop;
    options.stop = stop.get_token();
    options.on_progress = [&](const ChunkStoreProgress& progress) {
      if (progress.chunks == 9) stop.request_stop();
    };
    write_chunk_store(source, options);
  };
  const auto source = test::mixed_volume();
  const MadeVolume<std::uint16_t> changed(source.info(), [&](const VolumeIndex& at) {
    return static_cast<std::uint16_t>(source.voxel(at) + 1);
  });
  const ChunkStoreOptions options{.file = root / "a.hrv", .chunk = small_chunk};
  const auto resumed = [&](const Volume& from, const ChunkStoreOptions& now) {
    interrupt(source, options);
    const ChunkStoreProgress done = write_chunk_store(from, now);
    CHECK(done.finished);
    CHECK(file_bytes(root / "a.hrv") == whole_file(from, now));
    return done.resumed;
  };
  CHECK(resumed(source, options) == 9);
  CHECK(resumed(changed, options) == 0);
  ChunkStoreOptions other = options;
  other.codec = ChunkStoreCodec::raw;
  CHECK(resumed(source, other) == 0);
  other = options;
  other.source_mark = 1;
  CHECK(resumed(source, other) == 0);
  other = options;
  other.clip = {0.0, 100.0};
  CHECK(resumed(source, other) == 0);
}

TEST_CASE("a source that cannot be read ends the run, which goes on when it can") {
  const test::TemporaryFolder root;
  MadeVolume<float> source(odd_volume, wave);
  const ChunkStoreOptions options{.file = root / "a.hrv", .chunk = {3, 9, 11}};
  source.on_read = [](const VolumeIndex& place) {
    if (place[1] == 2) throw DataError("[volume] made: cut off");
  };
  CHECK(contains(test::message_of<DataError>([&] { write_chunk_store(source, options); }),
                 "cut off"));
  source.on_read = {};
  CHECK(write_chunk_store(source, options).resumed == 2);
  CHECK(all_voxels(ChunkStoreVolume(options.file)) == all_voxels(source));
}

TEST_CASE("blocks of a source of slices are decoded about once where a few layers of them fit") {
  const test::TemporaryFolder root;
  const MadeVolume<std::uint16_t> slices({.shape = {1, 20, 30, 40}, .block = {1, 1, 30, 40}},
                                         numbered<std::uint16_t>);
  const ChunkStoreProgress done = write_chunk_store(
      slices, {.file = root / "a.hrv", .chunk = {8, 8, 8}, .threads = 3, .memory = 40'000});
  CHECK(done.decoded_bytes >= 20 * 30 * 40 * 2);
  CHECK(done.decoded_bytes <= 20 * 30 * 40 * 2 * 5 / 4);
  CHECK(done.source_bytes == done.decoded_bytes / 2);
  // Less memory than a block of it: one is held.
  write_chunk_store(slices, {.file = root / "b.hrv", .chunk = {8, 8, 8}, .memory = 1});
  CHECK(file_bytes(root / "a.hrv") == file_bytes(root / "b.hrv"));
}

TEST_CASE("floats are spread over an integer dtype from their lowest to their highest value") {
  const MadeVolume<float> source(odd_volume, wave);
  const std::vector<float> truth = floats_of(source);
  const auto [low, high] = std::minmax_element(truth.begin(), truth.end());
  const double range = double{*high} - double{*low};
  for (const DType dtype : {DType::uint8, DType::int16, DType::uint16, DType::int8}) {
    CAPTURE(name_of(dtype));
    const std::vector<float> values = stored_floats(source, {.dtype = dtype, .threads = 2});
    const double steps = size_of(dtype) == 1 ? 255.0 : 65535.0;
    CHECK(largest_error(values, truth) <= range / steps * 0.5 + 1e-3);
    CHECK(*std::min_element(values.begin(), values.end()) == doctest::Approx(*low));
    CHECK(*std::max_element(values.begin(), values.end()) == doctest::Approx(*high));
  }
}

TEST_CASE("a clip range bounds the values of every dtype") {
  const MadeVolume<float> source(odd_volume, wave);
  std::vector<float> truth = floats_of(source);
  for (float& value : truth)
    value = std::clamp(value, -200.0F, 300.0F);
  ChunkStoreOptions options{.clip = {{-200.0, 300.0}}};
  CHECK(largest_error(stored_floats(source, options), truth) == 0.0);
  options.dtype = DType::uint8;
  CHECK(largest_error(stored_floats(source, options), truth) <= 500.0 / 255.0 * 0.5 + 1e-3);
  options.dtype = DType::int16;
  CHECK(largest_error(stored_floats(source, options), truth) <= 500.0 / 65535.0 * 0.5 + 1e-3);
  options.dtype = DType::float16;
  CHECK(largest_error(stored_floats(source, options), truth) <= 0.13);
}

TEST_CASE("whole numbers stay what they are, or a clip range is asked for") {
  const auto labels = [](std::int32_t most) {
    return MadeVolume<std::int32_t>(odd_volume, [most](const VolumeIndex& at) {
      return static_cast<std::int32_t>(numbered<std::int64_t>(at) % (most + 1));
    });
  };
  const auto source = labels(255);
  CHECK(stored_floats(source, {.dtype = DType::uint8, .threads = 2}) == floats_of(source));
  const std::string message =
      test::message_of<DataError>([&] { stored_floats(labels(256), {.dtype = DType::uint8}); });
  CHECK(contains(message, "made"));
  CHECK(contains(message, "256"));
  CHECK(contains(message, "clip"));
  // Under a clip range they are kept where it fits, and spread where it does not.
  const auto large = labels(4000);
  std::vector<float> clipped = floats_of(large);
  for (float& value : clipped)
    value = std::clamp(value, 100.0F, 200.0F);
  CHECK(stored_floats(large, {.dtype = DType::uint8, .clip = {{100.0, 200.0}}}) == clipped);
  CHECK(largest_error(stored_floats(large, {.dtype = DType::uint8, .clip = {{0.0, 4000.0}}}),
                      floats_of(large)) <= 4000.0 / 255.0 * 0.5 + 1e-3);
}

TEST_CASE("values that are no numbers do not decide the range") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const MadeVolume<float> source(
      {.shape = {1, 1, 1, 5}, .block = {1, 1, 1, 5}}, [](const VolumeIndex& at) {
        constexpr float values[] = {nan, -10.0F, 20.0F, infinity, -infinity};
        return values[at[3]];
      });
  const std::vector<float> values = stored_floats(source, {.dtype = DType::uint8});
  const std::vector<float> want{-10.0F, -10.0F, 20.0F, 20.0F, -10.0F};
  CHECK(largest_error(values, want) < 1e-4);
  const MadeVolume<float> nothing({.shape = {1, 1, 1, 5}, .block = {1, 1, 1, 5}},
                                  [](const VolumeIndex&) { return nan; });
  CHECK(stored_floats(nothing, {.dtype = DType::uint8}) == std::vector<float>(5, 0.0F));
}

TEST_CASE("a value that float16 cannot hold is refused with the way out") {
  const MadeVolume<float> source(odd_volume,
                                 [](const VolumeIndex& at) { return wave(at) * 100.0F; });
  const std::string message =
      test::message_of<DataError>([&] { stored_floats(source, {.dtype = DType::float16}); });
  CHECK(contains(message, "float16"));
  CHECK(contains(message, "clip"));
}

TEST_CASE("options of a store that cannot be right are refused") {
  const MadeVolume<float> source(odd_volume, wave);
  const test::TemporaryFolder root;
  const auto refusal = [&](ChunkStoreOptions options, bool named = true) {
    if (named) options.file = root / "a.hrv";
    return test::message_of<ConfigError>([&] { write_chunk_store(source, options); });
  };
  CHECK(contains(refusal({}, false), "file"));
  CHECK(contains(refusal({.chunk = {64, 0, 64}}), "got 0"));
  CHECK(contains(refusal({.level = 20}), "got 20"));
  CHECK(contains(refusal({.threads = 0}), "got 0"));
  CHECK(contains(refusal({.dtype = DType::int64}), "got int64"));
  CHECK(contains(refusal({.clip = {{3.0, 3.0}}}), "clip"));
  CHECK(fs::is_empty(root.path()));
  CHECK_THROWS_AS(write_chunk_store(source, {.file = root / "no/folder.hrv"}), ResourceError);
}
