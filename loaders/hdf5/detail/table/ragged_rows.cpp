#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

std::uint32_t longest_of(std::span<const std::byte> references, const TableFile& file,
                         const Hdf5Dataset& dataset) {
  std::uint32_t longest = 0;
  for (std::size_t at = 0; at < references.size(); at += HeapReference::stored_bytes)
    longest = std::max(longest, HeapReference::of(references.data() + at).length);
  if (longest > file.opened.file->size() / size_of(dataset.ragged->dtype)) {
    throw DataError("[hdf5] " + printable(file.path.native()) + ": dataset \"" +
                    printable(dataset.path) + "\" has a row of " + std::to_string(longest) +
                    " elements, more than the file can hold; the file is damaged");
  }
  return longest;
}

}  // namespace

std::int64_t longest_row(const TablePlan& plan, const TableField& field) {
  constexpr std::int64_t at_once = 65536;
  std::uint32_t longest = 0;
  std::vector<std::int64_t> rows;
  std::vector<std::byte> references;
  const auto* placed = static_cast<const std::byte*>(field.resident() ? field.rows.raw() : nullptr);
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    const Hdf5Dataset& dataset = field.datasets[f];
    if (placed != nullptr) {
      longest = std::max(longest, longest_of({placed, dataset.bytes}, plan.files[f], dataset));
      placed += dataset.bytes;
      continue;
    }
    for (std::int64_t first = 0; first < dataset.rows; first += at_once) {
      rows.resize(static_cast<std::size_t>(std::min(at_once, dataset.rows - first)));
      std::iota(rows.begin(), rows.end(), first);
      references.resize(rows.size() * dataset.row_bytes);
      field.readers[f]->gather(rows, {{references.data(), dataset.row_bytes}});
      longest = std::max(longest, longest_of(references, plan.files[f], dataset));
    }
  }
  return longest;
}

void read_ragged(const TableFile& file, const Hdf5Dataset& dataset, const std::byte* reference,
                 Sample& sample) {
  const auto [dtype, swap] = *dataset.ragged;
  const HeapReference place = HeapReference::of(reference);
  Tensor& row = sample.make(dataset.field, dtype, {static_cast<std::int64_t>(place.length)});
  if (place.length == 0) return;
  try {
    read_heap_object(*file.opened.file, dataset.base, place,
                     {static_cast<std::byte*>(row.raw()), row.bytes()});
  } catch (const DataError& error) {
    throw DataError(printable(file.path.native()) + ": dataset \"" + printable(dataset.path) +
                    "\": " + error.what());
  }
  normalise(row.raw(), place.length, dtype, swap);
  file.opened.file->require_unchanged();
}

}  // namespace headrace::inline v1::detail
