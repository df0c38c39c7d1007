#include <headrace/engine/base/error.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

namespace headrace::test {
namespace {

std::string idx(unsigned char code, const std::vector<std::uint32_t>& extents,
                const std::string& data) {
  std::string bytes{'\0', '\0', static_cast<char>(code), static_cast<char>(extents.size())};
  for (std::uint32_t extent : extents) {
    for (int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<char>(extent >> shift & 0xff));
  }
  return bytes + data;
}

std::filesystem::path plain(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file;
}

std::filesystem::path packed(const std::filesystem::path& file, const std::string& bytes) {
  const gzFile out = ::gzopen(file.c_str(), "wb");
  ::gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(out);
  return file;
}

std::string idx_refusal(const std::filesystem::path& file) {
  return message_of<DataError>([&] { read_idx(file); });
}

}  // namespace

TEST_CASE("an IDX file reads the same plain and packed") {
  const TemporaryFolder folder;
  const std::string bytes = idx(8, {2, 3, 1}, "abcdef");
  for (const auto& file : {plain(folder / "a", bytes), packed(folder / "a.gz", bytes)}) {
    const Tensor array = read_idx(file);
    CHECK(array.dtype() == DType::uint8);
    CHECK(array.shape() == Shape{2, 3, 1});
    const auto values = array.values<std::uint8_t>();
    CHECK(std::string(values.begin(), values.end()) == "abcdef");
  }
}

TEST_CASE("every IDX type comes in the byte order of the machine") {
  const TemporaryFolder folder;
  const auto read = [&](unsigned char code, const std::string& data, std::uint32_t n) {
    return read_idx(plain(folder / "x", idx(code, {n}, data)));
  };
  CHECK(read(9, "\xff\x05", 2).values<std::int8_t>()[0] == -1);
  CHECK(read(11, std::string("\x01\x02\xff\xfe", 4), 2).values<std::int16_t>()[0] == 0x0102);
  CHECK(read(11, std::string("\x01\x02\xff\xfe", 4), 2).values<std::int16_t>()[1] == -2);
  CHECK(read(12, std::string("\x00\x00\x01\x00", 4), 1).values<std::int32_t>()[0] == 256);
  CHECK(read(13, std::string("\xbf\xc0\x00\x00", 4), 1).values<float>()[0] == -1.5F);
  CHECK(read(14, std::string("\x40\x04\x00\x00\x00\x00\x00\x00", 8), 1).values<double>()[0] == 2.5);
}

TEST_CASE("a pair of files is a table of images and int64 labels") {
  const TemporaryFolder folder;
  const IdxDataset data(
      {.images = packed(folder / "images.gz", idx(8, {3, 2, 2}, "aaaabbbbcccc")),
       .labels = packed(folder / "labels.gz", idx(8, {3}, std::string("\x07\x00\x09", 3)))});
  CHECK(data.size() == 3);
  CHECK(to_string(data.fields()) == "{image: uint8 [2, 2], label: int64 []}");
  Sample sample;
  data.read(2, sample);
  CHECK(sample["image"].values<std::uint8_t>()[3] == 'c');
  CHECK(sample["label"].item<std::int64_t>() == 9);
  const std::vector<std::int64_t> indices{2, 0, 1, 1};
  CHECK(gathered(data, indices) == one_by_one(data, indices));
  CHECK(contains(data.origin(1), "images.gz[1]"));
}

TEST_CASE("a pair that does not belong together is refused with both numbers") {
  const TemporaryFolder folder;
  const auto images = plain(folder / "images", idx(8, {3, 1}, "abc"));
  const auto pair = [&](const std::filesystem::path& labels) {
    return message_of<DataError>([&] { IdxDataset({.images = images, .labels = labels}); });
  };
  const std::string message = pair(plain(folder / "two", idx(8, {2}, "ab")));
  CHECK(contains(message, "3 rows"));
  CHECK(contains(message, "has 2"));
  CHECK(contains(pair(plain(folder / "matrix", idx(8, {3, 1}, "abc"))), "integers of shape [n]"));
  CHECK(contains(pair(plain(folder / "real", idx(13, {3}, std::string(12, '\0')))), "integers"));
}

TEST_CASE("a file that is not a whole IDX file is refused by name, with the rule") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& bytes, const std::string& rule) {
    for (const auto& file :
         {plain(folder / "broken", bytes), packed(folder / "broken.gz", bytes)}) {
      const std::string message = idx_refusal(file);
      CAPTURE(message);
      CHECK(contains(message, "broken"));
      CHECK(contains(message, rule));
    }
  };
  check("", "ends 4 bytes early");
  check(std::string("\x00\x00\x08", 3), "ends 1 bytes early");
  check("PK\x03\x04more", "two zero bytes");
  check(idx(7, {1}, "a"), "element type 7");
  check(idx(8, {}, ""), "rank 0");
  check(idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a"), "rank 9");
  check(std::string("\x00\x00\x08\x03\x00\x00\x00\x01", 8), "ends 4 bytes early");
  check(idx(8, {2}, "abc"), "bytes after its last element");
  check(idx(14, {0xffffffff, 0xffffffff, 0xffffffff}, ""), "63 bits");
  check(idx(14, {0, 0xffffffff, 0xffffffff, 0xffffffff}, ""), "63 bits");
  check(idx(8, {0xffffffff, 0xffff}, "a"), "more than it can hold");
}

TEST_CASE("a packed file that is cut or damaged is refused") {
  const TemporaryFolder folder;
  std::string data(5000, '\0');
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i * i * 31 >> 3);
  const auto file = packed(folder / "x.gz", idx(8, {5000}, data));
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};

  CHECK(
      contains(idx_refusal(plain(folder / "cut.gz", bytes.substr(0, bytes.size() / 2))), "cut.gz"));
  std::string wrong = bytes;
  wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 1);
  CHECK(contains(idx_refusal(plain(folder / "sum.gz", wrong)), "unpacked"));
  // Of its last eight bytes, checksum and length, none may lack.
  for (const std::size_t lacks : {1, 4, 7, 8})
    CHECK(contains(idx_refusal(plain(folder / "end.gz", bytes.substr(0, bytes.size() - lacks))),
                   "unpacked"));
}

TEST_CASE("sizes over the limit and files that are not there have errors of their own") {
  const TemporaryFolder folder;
  const auto file = plain(folder / "x", idx(8, {100}, std::string(100, 'x')));
  CHECK(contains(message_of<ResourceError>([&] { read_idx(file, 99); }), "the limit is 99"));
  CHECK(read_idx(file, 100).elements() == 100);
  CHECK_THROWS_AS(read_idx(folder / "absent"), ConfigError);
}

}  // namespace headrace::test
