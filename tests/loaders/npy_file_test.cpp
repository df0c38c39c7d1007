#include <headrace/engine/base/error.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

std::string npy_refusal(const std::filesystem::path& path) {
  return message_of<DataError>([&] { NpyFile file(path); });
}

}  // namespace

TEST_CASE("rows come in the machine's byte order") {
  const TemporaryFolder folder;
  const auto path = folder / "x.npy";
  write_npy(path, "{'descr': '>u2', 'fortran_order': False, 'shape': (3, 2), }",
            std::string("\0\1\0\2\0\3\0\4\0\5\1\0", 12));
  const NpyFile file(path);
  CHECK(file.dtype() == DType::uint16);
  CHECK(file.shape() == Shape{3, 2});
  const Tensor rows = file.rows(1, 2);
  const std::vector<std::uint16_t> expected{3, 4, 5, 256};
  CHECK(std::memcmp(rows.raw(), expected.data(), 8) == 0);
  CHECK(file.rows(3, 0).shape()[0] == 0);
  CHECK_THROWS_AS(file.rows(2, 2), DataError);
}

TEST_CASE("one axis, and types of every size") {
  const TemporaryFolder folder;
  for (const auto& [code, dtype] : {std::pair{"|u1", DType::uint8},
                                    {"<f2", DType::float16},
                                    {"<f8", DType::float64},
                                    {"|b1", DType::boolean},
                                    {"<i8", DType::int64}}) {
    write_npy(folder / "x.npy",
              std::string("{'descr': '") + code + "', 'fortran_order': False, 'shape': (5,), }",
              std::string(5 * size_of(dtype), '\1'));
    const NpyFile file(folder / "x.npy");
    CHECK(file.dtype() == dtype);
    CHECK(file.shape() == Shape{5});
  }
}

TEST_CASE("files that are none, or lie, are refused by name") {
  const TemporaryFolder folder;
  const auto path = folder / "bad.npy";
  const auto tried = [&](const std::string& dictionary, const std::string& data) {
    write_npy(path, dictionary, data);
    return npy_refusal(path);
  };
  CHECK(contains(tried("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "12345678"),
                 "12 bytes, the file has 8"));
  CHECK(contains(tried("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "12345678"),
                 "C order"));
  CHECK(contains(tried("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", ""), "type"));
  CHECK(contains(tried("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
                 "number or boolean"));
  for (const char* texts : {"<U3", "<U12", "|S1"})
    CHECK(contains(
        tried(std::string("{'descr': '") + texts + "', 'fortran_order': False, 'shape': (1,), }",
              "12345678"),
        "got texts; number names with numpy.unique"));
  CHECK(contains(tried("{'descr': '<f4', 'shape': (2,), }", "12345678"), "fortran_order"));
  CHECK(contains(tried("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""),
                 "whole numbers"));
  CHECK(contains(tried("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "1234"), "axes"));
  CHECK(contains(tried("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, "
                       "4294967296), }",
                       ""),
                 "overflow"));
  CHECK(contains(tried("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4294967296, "
                       "4294967296), }",
                       ""),
                 "overflow"));
  std::ofstream(path) << "no array";
  CHECK(contains(npy_refusal(path), "no .npy file"));
  std::ofstream(path, std::ios::binary) << "\x93NUMPY\2" << '\0' << "\xff\xff\xff\x7f";
  CHECK(contains(npy_refusal(path), "64 KiB"));
  std::ofstream(path, std::ios::binary) << "\x93NUMPY\1" << '\0' << "\x40" << '\0' << "{";
  CHECK(contains(npy_refusal(path), "ends inside its header"));
  CHECK_THROWS_AS(NpyFile(folder / "absent.npy"), ConfigError);
}

}  // namespace headrace::test
