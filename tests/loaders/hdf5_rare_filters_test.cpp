#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

// What filters that only the library undoes say of their chunks, against the chunks.
namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;

constexpr std::int64_t scaled_rows = 400, scaled_chunk = 100, scaled_values = 10;

std::int32_t scaled_value(std::int64_t row, std::int64_t column) {
  return static_cast<std::int32_t>(row * 16 + column);  // 11 bits within a chunk
}

/// Writes scaled_rows rows "x" in scale-offset chunks; gives where the third chunk's first byte,
/// the low one of its number of bits, lies.
haddr_t write_scaled(const fs::path& path) {
  constexpr std::array<hsize_t, 2> extents{scaled_rows, scaled_values},
      chunk{scaled_chunk, scaled_values}, third{2 * scaled_chunk, 0};
  std::vector<std::int32_t> values;
  for (std::int64_t row = 0; row < scaled_rows; ++row)
    for (std::int64_t column = 0; column < scaled_values; ++column)
      values.push_back(scaled_value(row, column));
  const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
  H5::DSetCreatPropList creation;
  creation.setChunk(2, chunk.data());
  H5Pset_scaleoffset(creation.getId(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
  const H5::DataSet data =
      file.createDataSet("x", P::STD_I32LE, H5::DataSpace(2, extents.data()), creation);
  data.write(values.data(), P::NATIVE_INT32);
  file.flush(H5F_SCOPE_GLOBAL);
  unsigned mask = 0;
  haddr_t place = 0;
  hsize_t stored = 0;
  H5Dget_chunk_info_by_coord(data.getId(), third.data(), &mask, &place, &stored);
  return place;
}

void set_byte(const fs::path& path, haddr_t place, int value) {
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(place))
      .put(static_cast<char>(value));
}

}  // namespace

TEST_CASE("a chunk that lies about its bits is refused before the library reads it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "scaled.h5";
  const haddr_t bits_of_third = write_scaled(path);
  const std::array<std::int64_t, 3> sound{0, 150, 399}, bad{0, 250, 399};
  const auto rows = [&](Residence residence, std::span<const std::int64_t> indices) {
    return gathered(
        Hdf5Table({.file = path, .fields = {{"x", "x"}}, .memory = 1_MiB, .residence = residence}),
        indices);
  };
  const auto expected = rows(Residence::library, sound);
  for (const int bits : {0, 10, 12, 32, 33, 255}) {
    CAPTURE(bits);
    set_byte(path, bits_of_third, bits);
    CHECK(rows(Residence::library, sound) == expected);
    for (const Residence residence : {Residence::library, Residence::file, Residence::resident})
      CHECK(contains(message_of<DataError>([&] { rows(residence, bad); }), "scale-offset"));
  }
}

TEST_CASE("a loader goes on with the other samples of a file of which a chunk is broken") {
  const TemporaryFolder folder;
  const fs::path path = folder / "scaled.h5";
  set_byte(path, write_scaled(path), 33);
  Loader loader = Pipeline::from(Hdf5Table({.file = path,
                                            .fields = {{"x", "x"}},
                                            .memory = 1_MiB,
                                            .residence = Residence::library}))
                      .on_bad_sample({.rule = BadSamples::Rule::replace})
                      .batch({.size = 16})
                      .build();
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::array<int, scaled_rows> seen{};
    int rows = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      for (std::int64_t row = 0; row < batch.size(); ++row, ++rows) {
        const auto* values = static_cast<const std::int32_t*>(batch["x"].row(row).raw());
        const std::int64_t index = values[0] / 16;
        ++seen.at(static_cast<std::size_t>(index));
        for (std::int64_t column = 0; column < scaled_values; ++column)
          REQUIRE(values[column] == scaled_value(index, column));
      }
    }
    CHECK(rows == scaled_rows);
    for (std::int64_t index = 0; index < scaled_rows; ++index)
      CHECK((seen[static_cast<std::size_t>(index)] > 0) == (index / scaled_chunk != 2));
  }
  CHECK(loader.stats().bad_samples >= 2 * scaled_chunk);
}

TEST_CASE("a szip chunk whose code ends too soon is refused before the library reads it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "szip.h5";
  constexpr hsize_t extent = 4096, chunk = 1024;
  for (const bool shuffled : {false, true}) {
    CAPTURE(shuffled);
    std::vector<std::int32_t> values(extent);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(i * 7919 % 1000);
    {
      const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
      H5::DSetCreatPropList creation;
      creation.setChunk(1, &chunk);
      if (shuffled) creation.setShuffle();
      creation.setSzip(H5_SZIP_NN_OPTION_MASK, 16);
      file.createDataSet("x", P::STD_I32LE, H5::DataSpace(1, &extent), creation)
          .write(values.data(), P::NATIVE_INT32);
    }
    const auto rows = [&](std::span<const std::int64_t> indices) {
      return gathered(Hdf5Table({.file = path,
                                 .fields = {{"x", "x"}},
                                 .memory = 1_MiB,
                                 .residence = Residence::library}),
                      indices);
    };
    const std::array<std::int64_t, 4> all{0, 1023, 2047, 4095}, sound{0, 1023, 2048, 4095};
    const auto bytes = rows(all).front();
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(std::memcmp(bytes.data() + 4 * i, &values[static_cast<std::size_t>(all[i])], 4) == 0);
    const auto expected = rows(sound);
    {
      const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
      const H5::DataSet data = file.openDataSet("x");
      hsize_t stored = 0;
      H5Dget_chunk_storage_size(data.getId(), &chunk, &stored);
      std::vector<std::byte> code(stored);
      std::uint32_t mask = 0;
      REQUIRE(H5Dread_chunk(data.getId(), H5P_DEFAULT, &chunk, &mask, code.data()) >= 0);
      REQUIRE(H5Dwrite_chunk(data.getId(), H5P_DEFAULT, mask, &chunk, stored / 2, code.data()) >=
              0);
    }
    CHECK(rows(sound) == expected);
    CHECK(contains(message_of<DataError>([&] { rows(all); }), "szip"));
  }
}

TEST_CASE("rare filters that leave chunks as they are do not stand in the way") {
  const TemporaryFolder folder;
  const fs::path path = folder / "idle.h5";
  constexpr hsize_t extent = 100, chunk = 10;
  std::vector<std::int32_t> values(extent);
  std::iota(values.begin(), values.end(), -50);
  const H5::EnumType colours(sizeof(std::int32_t));
  for (std::int32_t value = -50; value < 50; ++value)
    colours.insert("c" + std::to_string(value + 50), &value);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    H5::DSetCreatPropList all_bits, enumerated;
    all_bits.setChunk(1, &chunk);
    enumerated.setChunk(1, &chunk);
    H5Pset_scaleoffset(all_bits.getId(), H5Z_SO_INT, 32);
    all_bits.setDeflate(3);
    enumerated.setDeflate(3);
    H5Pset_nbit(enumerated.getId());
    const H5::DataSpace space(1, &extent);
    file.createDataSet("all_bits", P::STD_I32LE, space, all_bits)
        .write(values.data(), P::NATIVE_INT32);
    file.createDataSet("enumerated", colours, space, enumerated).write(values.data(), colours);
  }
  const std::vector<std::int64_t> indices = scattered(extent, 64);
  for (const std::string dataset : {"all_bits", "enumerated"}) {
    CAPTURE(dataset);
    const auto rows = gathered(Hdf5Table({.file = path,
                                          .fields = {{"x", dataset}},
                                          .memory = 1_MiB,
                                          .residence = Residence::library}),
                               indices);
    for (std::size_t i = 0; i < indices.size(); ++i)
      CHECK(std::memcmp(&rows[0][4 * i], &values[static_cast<std::size_t>(indices[i])], 4) == 0);
  }
}

TEST_CASE("settings of rare filters that are not those of the chunks are refused") {
  using detail::ChunkCodec;
  using detail::ChunkFilter;
  const auto refused = [](const ChunkFilter& filter, std::size_t bytes) {
    return !message_of<DataError>([&] { ChunkCodec({filter}, bytes); }).empty();
  };
  // Scale-offset of 100 numbers of 4 bytes.
  const ChunkFilter scaled{6, {2, 0, 100, 0, 4, 1, 0, 0}};
  CHECK_FALSE(refused(scaled, 400));
  CHECK(refused(scaled, 404));
  for (const auto& [place, value] :
       {std::pair{0, 7U}, std::pair{1, 33U}, std::pair{2, 1U}, std::pair{3, 2U}, std::pair{4, 3U},
        std::pair{5, 2U}, std::pair{6, 2U}}) {
    CAPTURE(place);
    ChunkFilter lying = scaled;
    lying.values[static_cast<std::size_t>(place)] = value;
    CHECK(refused(lying, 400));
  }
  CHECK(refused({6, {2, 0, 100}}, 400));
  // Szip in blocks of 8 of a line of 256.
  const ChunkFilter coded{4, {141, 8, 32, 256}};
  CHECK_FALSE(refused(coded, 400));
  for (const auto& [place, value] :
       {std::pair{1, 0U}, std::pair{1, 7U}, std::pair{1, 34U}, std::pair{2, 33U}, std::pair{2, 0U},
        std::pair{3, 0U}, std::pair{3, 5000U}}) {
    CAPTURE(place);
    ChunkFilter lying = coded;
    lying.values[static_cast<std::size_t>(place)] = value;
    CHECK(refused(lying, 400));
  }
  // N-bit of 100 arrays of two numbers of 4 bytes, 17 bits from bit 3.
  const ChunkFilter packed{5, {10, 0, 100, 2, 8, 1, 4, 0, 17, 3}};
  CHECK_FALSE(refused(packed, 800));
  CHECK(refused(packed, 400));
  for (const auto& [place, value] :
       {std::pair{0, 9U}, std::pair{2, 99U}, std::pair{3, 3U}, std::pair{4, 12U}, std::pair{6, 0U},
        std::pair{6, 3U}, std::pair{7, 5U}, std::pair{8, 30U}, std::pair{8, 0U}}) {
    CAPTURE(place);
    ChunkFilter lying = packed;
    lying.values[static_cast<std::size_t>(place)] = value;
    CHECK(refused(lying, 800));
  }
  const ChunkCodec codec({packed}, 800);
  detail::CodecScratch scratch;
  const std::vector<std::byte> bytes(100 * 2 * 17 / 8);
  CHECK_NOTHROW(codec.check(bytes, 0, scratch));
  CHECK_THROWS_AS(codec.check(std::span(bytes).first(bytes.size() - 1), 0, scratch), DataError);
}

}  // namespace headrace::test
