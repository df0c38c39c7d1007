#include <headrace/tests/fuzz/hdf5_file_seeds.h>
#include <headrace/tests/fuzz/seeds.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <iterator>

#include <zlib.h>

namespace headrace::test {
namespace {

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return bytes_of(text);
}

std::string idx(unsigned char code, const std::vector<unsigned char>& extents,
                const std::string& data) {
  std::string bytes{'\0', '\0', static_cast<char>(code), static_cast<char>(extents.size())};
  for (const unsigned char extent : extents)
    bytes += std::string(3, '\0') + static_cast<char>(extent);
  return bytes + data;
}

Bytes packed(const std::string& bytes) {
  const TemporaryFolder folder;
  const gzFile out = ::gzopen((folder / "x.gz").c_str(), "wb");
  ::gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(out);
  return read_file(folder / "x.gz");
}

/// A header of text behind how long the data are.
Bytes safetensors(std::uint64_t data_bytes, std::string_view text) {
  std::string bytes(reinterpret_cast<const char*>(&data_bytes), sizeof data_bytes);
  return bytes_of(bytes.append(text));
}

}  // namespace

std::vector<StoredInput> npy_seeds() {
  const TemporaryFolder folder;
  std::vector<StoredInput> inputs;
  const auto add = [&](const std::string& type, const std::string& shape, std::size_t bytes) {
    write_npy(folder / "x.npy",
              "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }",
              std::string(bytes, 'x'));
    inputs.push_back({type + " " + shape, read_file(folder / "x.npy")});
  };
  add("<f4", "3, 2", 24);
  add(">f8", "2,", 16);
  add("|u1", "5, 1, 2", 10);
  add("|b1", "0, 7", 0);
  add(">i2", "2, 3", 12);
  for (const unsigned char version : {2, 3}) {
    Bytes file = inputs.front().bytes;
    file[6] = std::byte{version};
    file.insert(file.begin() + 10, 2, std::byte{0});
    inputs.push_back({"version " + std::to_string(version), file});
  }
  return inputs;
}

std::vector<StoredInput> idx_seeds() {
  std::vector<StoredInput> inputs;
  const std::string bytes = idx(8, {2, 3, 4}, std::string(24, 'x'));
  inputs.push_back({"bytes", bytes_of(bytes)});
  inputs.push_back({"packed", packed(bytes)});
  inputs.push_back({"shorts", bytes_of(idx(0x0b, {3}, "abcdef"))});
  inputs.push_back({"doubles", bytes_of(idx(0x0e, {1, 2}, std::string(16, 'y')))});
  inputs.push_back({"nothing", bytes_of(idx(0x0d, {0, 5}, ""))});
  return inputs;
}

std::vector<StoredInput> safetensors_seeds() {
  const auto tensor = [](const std::string& type, const std::string& shape, int begin, int end) {
    return R"({"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  return {
      {"empty", safetensors(0, "{}")},
      {"one", safetensors(24, R"({"w":)" + tensor("F32", "2,3", 0, 24) + "}  ")},
      {"two",
       safetensors(10, R"({"__metadata__":{"format":"pt"},"a":)" + tensor("BF16", "4", 0, 8) +
                           R"(,"b":)" + tensor("BOOL", "1,2", 8, 10) + "}")},
      {"scalar and nothing", safetensors(8, R"({"s":)" + tensor("I64", "", 0, 8) + R"(,"n":)" +
                                                tensor("U8", "0,5", 8, 8) + "}")},
  };
}

std::vector<StoredInput> side_seeds() {
  return {{"chunk index", bytes_of(std::string_view("\0", 1))},
          {"listing", bytes_of(std::string_view("\1", 1))}};
}

std::vector<StoredInput> chunk_store_seeds() {
  return {{"raw", bytes_of(std::string_view("\0", 1))},
          {"LZ4", bytes_of("\1")},
          {"Zstd", bytes_of("\2")},
          {"foreground", bytes_of("\3")}};
}

std::vector<StoredInput> hdf5_file_seeds() {
  std::vector<StoredInput> inputs;
  for (std::size_t i = 0; i < hdf5_seeds().size(); ++i) {
    for (unsigned char way = 0; way < 4; ++way)
      inputs.push_back({"file " + std::to_string(i) + ", way " + std::to_string(way),
                        Bytes{std::byte{way}, static_cast<std::byte>(i)}});
  }
  return inputs;
}

}  // namespace headrace::test
