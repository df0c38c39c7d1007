#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/dataset/virtual_selection.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_hostile.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

// What a dataset declares (extents, element type, selections of its sources) against what the file
// stores of it.
namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;

constexpr hsize_t stored_rows = 1234;  // not a number that the file has for another reason

void write_rows(const fs::path& path, Planned plan) {
  plan.path = "x";
  plan.extents = {stored_rows};
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), plan, noise(stored_rows * 2).data(),
        P::NATIVE_INT16);
}

std::uint64_t offset_of(const fs::path& path, const char* dataset) {
  return H5Dget_offset(H5::H5File(path.c_str(), H5F_ACC_RDONLY).openDataSet(dataset).getId());
}

/// Writes the virtual dataset "x" of int16 [elements of `taken`], all of it that selection of
/// `source`.
void write_virtual_of(const fs::path& path, const std::string& source, const H5::DataSpace& taken) {
  const auto elements = static_cast<hsize_t>(taken.getSelectNpoints());
  const H5::DataSpace space(1, &elements);
  const H5::DSetCreatPropList creation;
  H5Pset_virtual(creation.getId(), space.getId(), source.c_str(), "/x", taken.getId());
  H5::H5File(path.c_str(), H5F_ACC_TRUNC).createDataSet("x", P::STD_I16LE, space, creation);
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                   reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK);
  packed.resize(size);
  return packed;
}

/// Writes the dataset "x" of int16 in `chunks` deflated chunks of 64; the first of them are stored
/// as given, with the filter left out where the number beside them is 1.
void write_chunks(const fs::path& path, hsize_t chunks,
                  const std::vector<std::pair<std::string, std::uint32_t>>& stored) {
  const hsize_t extent = chunks * 64, chunk = 64;
  const H5::DSetCreatPropList creation;
  creation.setChunk(1, &chunk);
  creation.setDeflate(4);
  const H5::DataSet data =
      H5::H5File(path.c_str(), H5F_ACC_TRUNC)
          .createDataSet("x", P::STD_I16LE, H5::DataSpace(1, &extent), creation);
  hsize_t first = 0;
  for (const auto& [bytes, skipped] : stored) {
    H5Dwrite_chunk(data.getId(), H5P_DEFAULT, skipped, &first, bytes.size(), bytes.data());
    first += chunk;
  }
}

/// `count` elements from `first` on, of an array of `extent`.
H5::DataSpace taken_of(hsize_t extent, hsize_t first, hsize_t count) {
  H5::DataSpace space(1, &extent);
  space.selectHyperslab(H5S_SELECT_SET, &count, &first);
  return space;
}

}  // namespace

TEST_CASE("a compact dataset that does not store what its extents declare is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "compact.h5";
  const auto indices = scattered(stored_rows, 300);
  for (const hsize_t rows : {hsize_t{1233}, hsize_t{1235}, hsize_t{4321}, hsize_t{1} << 40}) {
    CAPTURE(rows);
    write_rows(path, {"", P::STD_I16LE, {}, {}, 0, true});
    CHECK(gathered(Hdf5Table({.file = path, .fields = {{.dataset = "x"}}}), indices)[0] ==
          pick(noise(stored_rows * 2), 2, indices));
    damage(path, little_endian(stored_rows), little_endian(rows));
    const std::string why = refusal(path, "x");
    CHECK(contains(why, "dataset \"x\" must store the " + std::to_string(rows * 2) + " bytes"));
    CHECK(contains(why, "got 2468; "));
  }
  write_rows(path, {"", P::STD_I16LE, {}, {}, 0, true});
  damage(path, little_endian(stored_rows), little_endian(hsize_t{1} << 62));
  CHECK(contains(refusal(path, "x"), "63 bits"));
}

TEST_CASE("a dataset that has a place in the file but stores nothing there is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "piece.h5";
  write_rows(path, {"", P::STD_I16LE, {}});
  const std::string place = little_endian(offset_of(path, "x"));
  damage(path, place + little_endian(stored_rows * 2), place + little_endian(0));
  CHECK(contains(refusal(path, "x"), "must store the 2468 bytes"));
}

// The library would deliver what its memory holds where the file ends for it.
TEST_CASE("a dataset in one piece that ends behind the end which the file states is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "stated.h5";
  for (const hsize_t user_block : {0, 512}) {
    for (const std::size_t missing : {0, 1, 2000, 2468}) {
      CAPTURE(user_block);
      CAPTURE(missing);
      const H5::FileCreatPropList layout;
      if (user_block > 0) layout.setUserblock(user_block);
      write(H5::H5File(path.c_str(), H5F_ACC_TRUNC, layout), {"x", P::STD_I16LE, {stored_rows}},
            noise(stored_rows * 2).data(), P::NATIVE_INT16);
      const std::size_t end = fs::file_size(path);
      const std::string nowhere(8, '\xff');  // what a superblock has on both sides of it
      damage(path, nowhere + little_endian(end) + nowhere,
             nowhere + little_endian(end - missing) + nowhere);
      if (missing == 0) {
        CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "x"}}}).size() == 1234);
        continue;
      }
      CHECK(contains(refusal(path, "x"), "ends at byte " + std::to_string(end) +
                                             " but the file at " + std::to_string(end - missing) +
                                             ", as it says itself"));
    }
  }
}

TEST_CASE(
    "a dataset in one piece that was never written is its fill value, behind a user block too") {
  const TemporaryFolder folder;
  const auto path = folder / "unwritten.h5";
  for (const hsize_t user_block : {0, 512}) {
    const H5::FileCreatPropList layout;
    if (user_block > 0) layout.setUserblock(user_block);
    {
      const H5::DSetCreatPropList creation;
      const std::int16_t fill = 42;
      creation.setFillValue(P::NATIVE_INT16, &fill);
      H5::H5File(path.c_str(), H5F_ACC_TRUNC, layout)
          .createDataSet("x", P::STD_I16LE, H5::DataSpace(1, &stored_rows), creation);
    }
    for (const Residence residence : {Residence::automatic, Residence::file, Residence::library}) {
      const Hdf5Table table({.file = path, .fields = {{.dataset = "x"}}, .residence = residence});
      Sample sample;
      table.read(1233, sample);
      CHECK(sample["x"].values<std::int16_t>()[0] == 42);
    }
  }
}

TEST_CASE("a fill value that is smaller than an element is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "fill.h5";
  const std::uint64_t fill = 0x4142434445464748;
  const std::string value = little_endian(fill);
  for (const hsize_t chunk : {0, 100}) {
    for (const std::uint32_t stored : {8U, 1U, 7U}) {
      CAPTURE(stored);
      H5::DSetCreatPropList creation =
          storage_of({.path = "x", .type = P::STD_U64LE, .extents = {}});
      if (chunk > 0) creation.setChunk(1, &chunk);
      creation.setFillValue(P::STD_U64LE, &fill);
      H5::H5File(path.c_str(), H5F_ACC_TRUNC)
          .createDataSet("x", P::STD_U64LE, H5::DataSpace(1, &stored_rows), creation);
      damage(path, little_endian<std::uint32_t>(8) + value,
             little_endian<std::uint32_t>(stored) + value);
      write_virtual_of(folder / "virtual.h5", "fill.h5", taken_of(stored_rows, 0, 10));
      if (stored == 8) {
        Sample sample;
        Hdf5Table({.file = path, .fields = {{.dataset = "x"}}}).read(1233, sample);
        CHECK(sample["x"].values<std::uint64_t>()[0] == fill);
        continue;
      }
      const std::string why =
          "fill value of 8 bytes, as an element has, got " + std::to_string(stored);
      CHECK(contains(refusal(path, "x"), why));
      CHECK(contains(refusal(folder / "virtual.h5", "x"), why));
    }
  }
}

TEST_CASE("a virtual dataset that takes elements its source does not have is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "virtual.h5";
  write_rows(folder / "compact.h5", {"", P::STD_I16LE, {}, {}, 0, true});
  write_rows(folder / "piece.h5", {"", P::STD_I16LE, {}});
  write_rows(folder / "chunks.h5", {"", P::STD_I16LE, {}, {100}, 3});
  for (const std::string source : {"compact.h5", "piece.h5", "chunks.h5"}) {
    CAPTURE(source);
    write_virtual_of(path, source, taken_of(1234, 34, 1200));
    const Hdf5Table table({.file = path, .fields = {{.dataset = "x"}}});
    const std::vector<std::int64_t> last{1199}, of_source{1233};
    CHECK(gathered(table, last)[0] == pick(noise(stored_rows * 2), 2, of_source));

    write_virtual_of(path, source, taken_of(5000, 0, 5000));
    CHECK(contains(refusal(path, "x"), source));
    CHECK(contains(refusal(path, "x"), "its part 0 must lie inside"));
    CHECK(contains(refusal(path, "x"), "[1234], got elements up to [4999]"));
    write_virtual_of(path, source, taken_of(5000, 1000, 300));
    CHECK(contains(refusal(path, "x"), "[1234], got elements up to [1299]"));

    const std::array<hsize_t, 2> square{10, 10};
    write_virtual_of(path, source, H5::DataSpace(2, square.data()));
    CHECK(contains(refusal(path, "x"), "1234 elements, got 100"));
    H5::DataSpace corner(2, square.data());
    const std::array<hsize_t, 2> none{0, 0}, some{2, 2};
    corner.selectHyperslab(H5S_SELECT_SET, some.data(), none.data());
    write_virtual_of(path, source, corner);
    CHECK(contains(refusal(path, "x"), "[1234], got elements up to [1, 1]"));
  }
}

TEST_CASE("a chunk that is stored in another size than it has is refused, by the library too") {
  const TemporaryFolder folder;
  const auto path = folder / "chunk.h5";
  const std::vector<std::int64_t> rows{0, 1233};
  for (const std::uint32_t stored : {16U, 2467U}) {
    write_rows(path, {"", P::STD_I16LE, {}, {stored_rows}});
    // The chunk's entry in its index: size, filters left out, place along the axis and in an
    // element.
    const std::string rest = little_endian<std::uint32_t>(0) + little_endian(0) + little_endian(0);
    damage(path, little_endian<std::uint32_t>(stored_rows * 2) + rest,
           little_endian<std::uint32_t>(stored) + rest);
    const std::string why = "has a chunk stored in " + std::to_string(stored) + " bytes";
    for (const Residence residence : every_way) {
      CHECK(contains(
          message_of<DataError>([&] {
            gathered(
                Hdf5Table({.file = path, .fields = {{.dataset = "x"}}, .residence = residence}),
                rows);
          }),
          why));
    }
    write_virtual_of(folder / "virtual.h5", "chunk.h5", H5::DataSpace(1, &stored_rows));
    CHECK(contains(refusal(folder / "virtual.h5", "x"), why));
  }
}

TEST_CASE(
    "a chunk that decodes to more or less than it has gives nothing, through the library too") {
  const TemporaryFolder folder;
  const auto path = folder / "chunks.h5";
  const std::string honest = deflated(std::string(128, 'a'));
  const std::vector<std::pair<std::string, std::uint32_t>> dishonest{
      {deflated(std::string(20, 'b')), 0},       // decodes to less
      {deflated(std::string(1 << 20, 'c')), 0},  // to more
      {std::string(20, 'd'), 1},                 // not filtered, and too short
  };
  for (const auto& [stored, skipped] : dishonest) {
    CAPTURE(stored.size());
    write_chunks(path, 3, {{honest, 0}, {stored, skipped}, {std::string(128, 'a'), 1}});
    write_virtual_of(folder / "virtual.h5", "chunks.h5", taken_of(192, 0, 192));
    const std::vector<std::int64_t> inside{100}, outside{190, 10};
    for (const char* name : {"chunks.h5", "virtual.h5"}) {
      if (skipped == 1 && std::string(name) == "virtual.h5") {
        CHECK(contains(refusal(folder / name, "x"), "stored in 20 bytes where exactly 128 belong"));
        continue;
      }
      const Hdf5Table table(
          {.file = folder / name, .fields = {{.dataset = "x"}}, .residence = Residence::library});
      for (int round = 0; round < 2; ++round) {
        const std::string why = message_of<DataError>([&] { gathered(table, inside); });
        CHECK(contains(why, "chunks.h5: dataset \""));
        CHECK(contains(why, skipped == 1 ? "exactly 128 belong" : "chunk at [64]"));
        CHECK(gathered(table, outside)[0] == std::vector<std::byte>(4, std::byte{'a'}));
      }
      CHECK(message_of<DataError>(
                [&] { Hdf5Table({.file = folder / name, .fields = {{.dataset = "x"}}}); }) != "");
    }
  }
}

TEST_CASE("of more chunks than can be indexed those that are read are checked") {
  const TemporaryFolder folder;
  const auto path = folder / "many.h5";
  write_chunks(path, hsize_t{1} << 30,
               {{deflated(std::string(128, 'a')), 0}, {deflated(std::string(20, 'b')), 0}});
  const Hdf5Table table({.file = path, .fields = {{.dataset = "x"}}, .memory = 64_MiB});
  CHECK(contains(table.notes()[0], "more than can be indexed"));
  const std::vector<std::int64_t> good{7, std::int64_t{1} << 35}, bad{7, 64};
  CHECK(gathered(table, good)[0] ==
        std::vector{std::byte{'a'}, std::byte{'a'}, std::byte{0}, std::byte{0}});
  CHECK(contains(message_of<DataError>([&] { gathered(table, bad); }), "chunk at [64]"));
  write_virtual_of(folder / "virtual.h5", "many.h5", taken_of(hsize_t{1} << 36, 0, 64));
  CHECK(contains(
      message_of<DataError>([&] {
        Hdf5Table({.file = folder / "virtual.h5", .fields = {{.dataset = "x"}}, .memory = 64_MiB});
      }),
      "more than can be indexed"));
}

TEST_CASE("a small file of very many chunks makes no index larger than itself") {
  const TemporaryFolder folder;
  const fs::path path = folder / "sparse.h5";
  constexpr hsize_t extent = hsize_t{1} << 24, chunk = 1, last = extent - 1, one = 1;
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    H5::DSetCreatPropList creation;
    creation.setChunk(1, &chunk);
    const H5::DataSpace all(1, &extent);
    const H5::DataSet data = file.createDataSet("x", P::STD_I32LE, all, creation);
    all.selectHyperslab(H5S_SELECT_SET, &one, &last);
    const std::int32_t value = 7;
    data.write(&value, P::NATIVE_INT32, H5::DataSpace(1, &one), all);
  }
  REQUIRE(fs::file_size(path) < 64 * 1024);
  const Hdf5Table rows(
      {.file = path, .fields = {{"x", "x"}}, .memory = 2_GiB, .residence = Residence::file});
  CHECK(contains(rows.notes()[0], "more than can be indexed"));
  CHECK(rows.resident_bytes() < 1_MiB);
  CHECK_FALSE(fs::exists(folder / "sparse.h5.headrace-index"));
  const std::array<std::int64_t, 2> indices{0, static_cast<std::int64_t>(last)};
  std::array<std::int32_t, 2> values{};
  std::memcpy(values.data(), gathered(rows, indices)[0].data(), sizeof(values));
  CHECK(values == std::array<std::int32_t, 2>{0, 7});
}

TEST_CASE("selections are held against extents without running over") {
  constexpr hsize_t most = ~hsize_t{0} - 1, half = hsize_t{1} << 63, one = 1;
  const auto inside = [&](hsize_t start, hsize_t stride, hsize_t count, hsize_t extent) {
    H5::DataSpace space(1, &most);
    space.selectHyperslab(H5S_SELECT_SET, &count, &start, &stride, &one);
    return detail::selects_inside(space.getId(), {&extent, 1});
  };
  CHECK(inside(3, 2, 5, 12));
  CHECK_FALSE(inside(3, 2, 5, 11));
  CHECK_FALSE(inside(3, half, 3, 100));  // its end runs over to element 3
  CHECK_FALSE(inside(most, 1, 1, 100));
  CHECK_FALSE(inside(0, 1, most, 100));
  H5::DataSpace points(1, &most);
  const std::array<hsize_t, 3> places{7, 99, 8};
  points.selectElements(H5S_SELECT_SET, places.size(), places.data());
  for (const hsize_t extent : {100, 99})
    CHECK(detail::selects_inside(points.getId(), {&extent, 1}) == (extent == 100));
}

}  // namespace headrace::test
