#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/skip.h>

#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <stdio.h>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <unistd.h>

namespace headrace::test {
namespace {

Tensor counted_rows(std::int64_t rows, std::int64_t bytes) {
  Tensor tensor = Tensor::empty(DType::uint8, {rows, bytes});
  auto values = tensor.values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint8_t>(i * 131 + i / 251);
  return tensor;
}

std::vector<std::byte> rows_of(const Tensor& table, const std::vector<std::int64_t>& indices) {
  std::vector<std::byte> bytes;
  for (std::int64_t index : indices) {
    const Tensor row = table.row(index);
    const auto* first = static_cast<const std::byte*>(row.raw());
    bytes.insert(bytes.end(), first, first + row.bytes());
  }
  return bytes;
}

/// Lines of the disassembly of a function's file that prefetch, by function.
std::map<std::string, int> prefetches_by_function(const char* file) {
  std::map<std::string, int> found;
  const std::string command = std::string("objdump -d --no-show-raw-insn ") + file + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string function;
  std::vector<char> line(1 << 16);
  while (pipe && ::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
    const std::string text = line.data();
    if (const auto name = text.find('<'); text.ends_with(">:\n")) {
      function = text.substr(name);
      if (contains(function, "gather_with")) found.emplace(function, 0);
    } else if (contains(text, "\tprefetch") && contains(function, "gather_with")) {
      ++found[function];
    }
  }
  return found;
}

}  // namespace

TEST_CASE("gather gives the rows asked for, whatever their size") {
  for (std::int64_t bytes :
       {1, 2, 3, 4, 8, 12, 16, 63, 64, 100, 128, 640, 1000, 1024, 1088, 9000}) {
    CAPTURE(bytes);
    const Tensor rows = counted_rows(37, bytes);
    const Table table({{"x", rows}});
    for (std::size_t count : {0, 1, 5, 200}) {
      const auto indices = scattered(37, count);
      CHECK(gathered(table, indices)[0] == rows_of(rows, indices));
    }
  }
}

TEST_CASE("gather copes with a table that begins in the middle of a line") {
  const Tensor memory = counted_rows(1, 1 + 20 * 128);
  const Tensor rows =
      Tensor::borrow(memory.data<std::uint8_t>() + 1, DType::uint8, {20, 128}, memory.keep());
  const auto indices = scattered(20, 50);
  CHECK(gathered(Table({{"x", rows}}), indices)[0] == rows_of(rows, indices));
}

TEST_CASE("several columns are the fields of one sample") {
  const Tensor images = counted_rows(9, 640);
  const std::vector<std::int64_t> numbers{5, 4, 3, 2, 1, 0, -1, -2, -3};
  const Tensor labels = Tensor::of(std::span<const std::int64_t>(numbers), {9});
  const Table table({{"image", images}, {"label", labels}});

  CHECK(table.size() == 9);
  CHECK(to_string(table.fields()) == "{image: uint8 [640], label: int64 []}");
  CHECK(table.resident_bytes() == 9 * 648);
  const std::vector<std::int64_t> indices{8, 0, 0, 3};
  CHECK(gathered(table, indices) == one_by_one(table, indices));
  Sample sample;
  table.read(8, sample);
  CHECK(sample["label"].item<std::int64_t>() == -3);
}

TEST_CASE("read lends the rows instead of copying them") {
  const Tensor rows = counted_rows(4, 10);
  const Table table({{"x", rows}});
  Sample sample;
  table.read(2, sample);
  CHECK(sample["x"].raw() == rows.data<std::uint8_t>() + 20);
}

TEST_CASE("columns that make no table are refused with both numbers") {
  CHECK_THROWS_AS(Table({}), ConfigError);
  CHECK_THROWS_AS(Table({{"x", Tensor::scalar(1.0F)}}), ConfigError);
  CHECK_THROWS_AS(Table({{"x", counted_rows(2, 3)}, {"x", counted_rows(2, 3)}}), ConfigError);
  const std::string message = message_of<ConfigError>([] {
    Table({{"x", counted_rows(2, 3)}, {"y", counted_rows(5, 3)}});
  });
  CHECK(contains(message, "\"y\""));
  CHECK(contains(message, "5 rows"));
  CHECK(contains(message, "2"));
}

TEST_CASE("rows outside the table are refused before anything is copied") {
  const Table table({{"x", counted_rows(3, 8)}});
  for (std::int64_t index : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
    Sample sample;
    CHECK_THROWS_AS(table.read(index, sample), DataError);
    const std::vector<std::int64_t> indices{0, index};
    CHECK_THROWS_AS(gathered(table, indices), DataError);
  }
}

TEST_CASE("huge-page memory is zero, aligned and accounted in whole pages") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const HugePages memory(HugePages::huge_page * 2 + 5);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % HugePages::huge_page == 0);
  CHECK(memory.size() == HugePages::huge_page * 2 + 5);
  CHECK(memory.mapped_bytes() == HugePages::huge_page * 2 + page);
  CHECK(std::accumulate(memory.data(), memory.data() + memory.size(), 0,
                        [](int sum, std::byte b) { return sum + std::to_integer<int>(b); }) == 0);
  CHECK(HugePages(1).mapped_bytes() == page);
  CHECK(HugePages().mapped_bytes() == 0);
  CHECK_THROWS_AS(HugePages(SIZE_MAX - 5), ResourceError);
  CHECK_THROWS_AS(HugePages(std::size_t{1} << 60), ResourceError);
}

TEST_CASE("the compiled gather prefetches, for every kind of row") {
#if defined(__x86_64__)
  Dl_info place{};
  REQUIRE(::dladdr(reinterpret_cast<const void*>(&huge_zeros), &place) != 0);
  const std::string file = contains(place.dli_fname, ".so")
                               ? place.dli_fname
                               : "/proc/" + std::to_string(::getpid()) + "/exe";
  const auto functions = prefetches_by_function(file.c_str());
  if (functions.empty()) return skip("needs objdump and a library with symbols");
  CHECK(functions.size() >= 21);
  for (const auto& [name, prefetches] : functions) {
    CAPTURE(name);
    CHECK(prefetches >= 2);
  }
#else
  skip("looks for x86-64 instructions");
#endif
}

}  // namespace headrace::test
