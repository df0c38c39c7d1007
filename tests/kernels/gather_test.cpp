// The gather kernel against its twin on the host and against plain copies.
#include <headrace/loaders/memory/internal/table_gather.h>

#include "kernel_device.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

struct Table {
  std::int64_t rows;
  std::vector<std::size_t> row_bytes;

  std::vector<std::byte> column(std::size_t number) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * row_bytes[number]);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(1 + (i * 131 + i / 251 + number) % 255);
    return bytes;
  }
};

/// Row by row; zeros for a number outside and for rows that are none.
std::vector<std::byte> by_definition(const Table& table, std::size_t number,
                                     const std::vector<std::int64_t>& rows,
                                     const std::vector<std::uint8_t>& valid) {
  const std::vector<std::byte> column = table.column(number);
  const std::size_t bytes = table.row_bytes[number];
  std::vector<std::byte> out(rows.size() * bytes);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const bool there = rows[k] >= 0 && rows[k] < table.rows && (valid.empty() || valid[k] != 0);
    if (there && bytes > 0)
      std::memcpy(out.data() + k * bytes, column.data() + static_cast<std::size_t>(rows[k]) * bytes,
                  bytes);
  }
  return out;
}

/// Whether every column comes as by the definition, and how many launches that took.
std::int64_t check(const Table& table, const std::vector<std::int64_t>& rows,
                   const std::vector<std::uint8_t>& valid = {}) {
  std::vector<DeviceBytes> from;
  from.reserve(table.row_bytes.size());
  for (std::size_t c = 0; c < table.row_bytes.size(); ++c) {
    const std::vector<std::byte> column = table.column(c);
    from.emplace_back(column.data(), column.size());
  }
  const DeviceBytes numbers(rows.data(), rows.size() * sizeof(std::int64_t));
  const DeviceBytes marks(valid.data(), valid.size());
  std::int64_t launched = 0;
  in_each_order([&] {
    std::vector<DeviceBytes> to;
    std::vector<detail::GatherColumn> columns;
    to.reserve(from.size());
    columns.reserve(from.size());
    for (std::size_t c = 0; c < from.size(); ++c) {
      to.emplace_back(nullptr, rows.size() * table.row_bytes[c]);
      columns.push_back({from[c].data(), table.row_bytes[c], to[c].data()});
    }
    const detail::TableGather task{
        .columns = columns.data(),
        .column_count = static_cast<int>(columns.size()),
        .table_rows = table.rows,
        .rows = reinterpret_cast<const std::int64_t*>(numbers.data()),
        .valid = valid.empty() ? nullptr : reinterpret_cast<const bool*>(marks.data()),
        .count = static_cast<std::int64_t>(rows.size())};
    const std::int64_t before = kernel_launches();
    detail::launch(detail::gather_kernel, &task, Device::cuda(0), {});
    launched = kernel_launches() - before;
    std::fill(columns.begin(), columns.end(), detail::GatherColumn{});  // read by now
    for (std::size_t c = 0; c < from.size(); ++c) {
      CAPTURE(table.row_bytes[c]);
      REQUIRE(to[c].read() == by_definition(table, c, rows, valid));
    }
  });
  return launched;
}

std::vector<std::int64_t> scattered(std::size_t count, std::int64_t rows) {
  std::vector<std::int64_t> numbers;
  for (std::size_t k = 0; k < count; ++k)
    numbers.push_back(static_cast<std::int64_t>(k * k * 7919 + k * 31 + 5) % rows);
  return numbers;
}

}  // namespace

TEST_CASE("One launch gathers rows of every length, whatever word they are made of") {
  if (!device_present()) return skip("kernels need a GPU");
  const Table table{77, {1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 128, 640, 1000, 0, 4099, 5000}};
  for (const std::size_t count : {1, 2, 33, 300})
    CHECK(check(table, scattered(count, table.rows)) <= 1);
  CHECK(check(table, {}) <= 0);
}

TEST_CASE("Row numbers outside the table, and rows that are none, give zeros") {
  if (!device_present()) return skip("kernels need a GPU");
  const Table table{5, {1, 8, 16, 40}};
  const std::vector<std::int64_t> rows = {
      0, -1, 4, 5, 1, std::int64_t{1} << 62, -(std::int64_t{1} << 62), 3};
  check(table, rows);
  check(table, rows, {1, 1, 0, 1, 1, 1, 1, 0});
  check({0, {4, 16}}, {0, 1});
}

TEST_CASE("More columns than a launch takes are gathered all the same") {
  if (!device_present()) return skip("kernels need a GPU");
  Table table{9, {}};
  for (std::size_t c = 0; c < 150; ++c)
    table.row_bytes.push_back(1 + c % 37);
  CHECK(check(table, scattered(21, table.rows)) <= 3);
}

TEST_CASE("Rows that lie beyond 2^31 words are found") {
  if (!device_present()) return skip("kernels need a GPU");
  constexpr std::int64_t rows = 600'000'001;
  const VastBytes table(std::size_t{rows} * 12);  // three words of four bytes
  if (table.data() == nullptr) return skip("needs 7 GB of the device");
  const std::vector<std::uint8_t> last = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  {
    const detail::DeviceScope scope(Device::cuda(0));
    detail::copy_to_device(table.data() + (rows - 1) * 12,
                           reinterpret_cast<const std::byte*>(last.data()), 12, {});
    detail::drain(Stream{});
  }
  const std::vector<std::int64_t> numbers = {rows, rows - 1};
  const DeviceBytes on_device(numbers.data(), 16);
  const DeviceBytes out(nullptr, 24);
  const detail::GatherColumn column{table.data(), 12, out.data()};
  const detail::TableGather task{.columns = &column,
                                 .column_count = 1,
                                 .table_rows = rows,
                                 .rows = reinterpret_cast<const std::int64_t*>(on_device.data()),
                                 .count = 2};
  run_kernel(detail::gather_kernel, &task);
  std::vector<std::byte> wanted(24);
  std::memcpy(wanted.data() + 12, last.data(), 12);
  CHECK(out.read() == wanted);
}

}  // namespace headrace::test

TEST_SUITE_END();
