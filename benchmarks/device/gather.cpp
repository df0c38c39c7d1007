#include <headrace/benchmarks/device/kernel_alone.h>
#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/memory/device_table.h>

#include <memory>
#include <string>
#include <utility>

namespace headrace::inline v1::bench {

namespace {

constexpr int warm_gathers = 2;  ///< batches that do not count
constexpr int batches = 8;       ///< that do
constexpr int tables = 2;        ///< rows of the table to one of a batch

/// Rows of one length, and batches of them.
struct RowSet {
  std::size_t row_bytes = 0;
  std::int64_t batch = 0;

  std::int64_t table() const { return tables * batch; }
  /// Read and written, row numbers with them.
  std::size_t moved() const { return static_cast<std::size_t>(batch) * (2 * row_bytes + 8); }
};

std::shared_ptr<const DeviceTable> table_of(const Bench& bench, const RowSet& rows) {
  const Schema fields{
      FieldSpec::fixed("row", DType::uint8, Shape{static_cast<std::int64_t>(rows.row_bytes)})};
  auto table =
      std::make_shared<DeviceTable>(std::make_shared<const StillSource>(rows.table(), fields),
                                    DeviceTableOptions{.device = bench.side.device()});
  table->load();
  return table;
}

Pipeline batches_of(const std::shared_ptr<const DeviceTable>& table, const RowSet& rows) {
  return Pipeline::from(table)
      .order(Shuffled{.seed = 7, .epoch_size = (warm_gathers + batches) * rows.batch})
      .batch({.size = rows.batch});
}

/// All that the table's user pays: order, the row numbers' way to the device, the kernel.
Measured through_a_loader(const Bench& bench, const std::shared_ptr<const DeviceTable>& table,
                          const RowSet& rows) {
  auto loader = std::make_shared<Loader>(
      batches_of(table, rows)
          .to(bench.side.device())
          .then(table->gather_step())
          .build({.join_epochs = false, .runtime = Runtime({.threads = bench.extent.threads})}));
  auto epoch = std::make_shared<std::int64_t>(0);
  return {"a loader's batches, row numbers with them", [=, &side = bench.side] {
            int number = 0;
            for (Batch& batch : loader->epoch((*epoch)++, side.stream())) {
              if (number == warm_gathers - 1) side.begin();
              if (number == warm_gathers + batches - 1) side.end();
              ++number;
              batch = Batch();
            }
            return 1e-9 * batches * static_cast<double>(rows.moved()) / side.seconds();
          }};
}

std::string row_rate(const Rates& rates, const RowSet& rows) {
  const double a_second =
      1e9 * rates.median / static_cast<double>(rows.moved()) * static_cast<double>(rows.batch);
  return std::to_string(static_cast<std::int64_t>(a_second / 1e3)) + " k rows/s";
}

Row of(const Rates& rates, const std::string& section, const Rates& reference,
       const std::string& note) {
  return {.section = section,
          .contender = rates.name,
          .unit = "GB/s",
          .median = rates.median,
          .low = rates.low,
          .high = rates.high,
          .repeats = rates.repeats,
          .reference = reference.name,
          .ratio = rates.median / reference.median,
          .note = note};
}

void measure(const Bench& bench, const RowSet& rows, std::size_t size) {
  const auto table = table_of(bench, rows);
  Held held = hold(batches_of(table, rows), bench);
  const auto step = table->gather_step();
  const Tensor numbers = held.batch["table_row"];
  const auto rates =
      compare_measured({copy_of(bench, rows.moved()),
                        rate_of(bench, "the gather kernel alone", rows.moved(),
                                gather_alone(bench.side, numbers, rows.table(), rows.row_bytes)),
                        rate_of(bench, "DeviceTable's step on a batch", rows.moved(),
                                [&] { step(held.batch, bench.side.stream()); }),
                        through_a_loader(bench, table, rows)},
                       bench.extent.repeats);
  const std::string what =
      std::to_string(rows.batch) + " rows of " + std::to_string(rows.row_bytes) + " bytes (" +
      in_megabytes(static_cast<std::size_t>(rows.batch) * rows.row_bytes) + ")";
  const std::string gather = "gather of " + what + " beside a copy";
  std::vector<Row> beside_copy{of(rates[0], gather, rates[0], ""),
                               of(rates[1], gather, rates[0], row_rate(rates[1], rows))};
  beside_copy[1].goal = bench.extent.at_largest(size, at_least(0.8));
  bench.report.add(beside_copy);
  const std::string device_table = "device table, " + what + " beside its kernel";
  std::vector<Row> beside_kernel{of(rates[1], device_table, rates[1], row_rate(rates[1], rows)),
                                 of(rates[2], device_table, rates[1], row_rate(rates[2], rows)),
                                 of(rates[3], device_table, rates[1], row_rate(rates[3], rows))};
  beside_kernel[1].goal = bench.extent.at_largest(size, at_least(0.9));
  bench.report.add(beside_kernel);
}

}  // namespace

void measure_gather(const Bench& bench) {
  for (const std::size_t size : bench.extent.sizes) {
    for (const std::size_t row_bytes : {std::size_t{128}, std::size_t{640}}) {
      const auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(size / row_bytes));
      measure(bench, {row_bytes, batch}, size);
    }
  }
}

}  // namespace headrace::inline v1::bench
