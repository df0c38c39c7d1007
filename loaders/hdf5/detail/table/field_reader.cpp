#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>
#include <headrace/loaders/hdf5/detail/table/field_reader.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits.h>
#include <numeric>
#include <utility>
#include <vector>

#include <sys/uio.h>

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

namespace {

/// Bytes between two rows that are read and thrown away rather than skipped: a page is read anyway.
constexpr std::size_t most_gap = 4096;

/// One vectored read: rows that lie close together go straight to their places.
class Run {
 public:
  explicit Run(const DataFile& file) : file_(file) { parts_.reserve(IOV_MAX); }

  bool takes(std::uint64_t offset) const noexcept {
    return !parts_.empty() && offset - end_ <= most_gap && parts_.size() + 2 <= IOV_MAX;
  }

  void add(std::uint64_t offset, std::byte* to, std::size_t bytes) {
    if (parts_.empty()) {
      first_ = offset;
    } else if (offset > end_) {
      parts_.push_back({gap_.data(), offset - end_});
    }
    parts_.push_back({to, bytes});
    end_ = offset + bytes;
  }

  void read() {
    if (parts_.size() == 1) {
      file_.read(parts_[0].iov_base, parts_[0].iov_len, first_);
      return parts_.clear();
    }
    auto* part = parts_.data();
    auto left = static_cast<int>(parts_.size());
    while (left > 0) {
      const ssize_t got = ::preadv(file_.descriptor(), part, left, static_cast<off_t>(first_));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) file_.fail_read(got < 0 ? errno : 0);
      first_ += static_cast<std::uint64_t>(got);
      auto bytes = static_cast<std::size_t>(got);
      for (; left > 0 && bytes >= part->iov_len; ++part, --left)
        bytes -= part->iov_len;
      if (left == 0) break;
      part->iov_base = static_cast<std::byte*>(part->iov_base) + bytes;
      part->iov_len -= bytes;
    }
    parts_.clear();
  }

 private:
  const DataFile& file_;
  std::vector<iovec> parts_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::array<std::byte, most_gap> gap_;
};

class PreadField final : public FieldReader {
 public:
  PreadField(std::shared_ptr<const DataFile> file, const Hdf5Dataset& dataset)
      : file_(std::move(file)), dataset_(dataset) {}

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    const std::vector<SortedRow> rows = sorted_rows(indices, out);
    Run run(*file_);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (repeats(rows, k)) continue;
      const std::uint64_t offset =
          dataset_.offset + static_cast<std::uint64_t>(rows[k].index) * dataset_.row_bytes;
      if (!run.takes(offset)) run.read();
      run.add(offset, rows[k].to, dataset_.row_bytes);
    }
    run.read();
    file_->require_unchanged();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (repeats(rows, k)) {
        std::memcpy(rows[k].to, rows[k - 1].to, dataset_.row_bytes);
      } else {
        normalise(rows[k].to, dataset_.elements(1), dataset_.dtype, dataset_.swap);
      }
    }
  }

 private:
  std::shared_ptr<const DataFile> file_;
  Hdf5Dataset dataset_;
};

}  // namespace

std::unique_ptr<FieldReader> make_pread_field(std::shared_ptr<const DataFile> file,
                                              const Hdf5Dataset& dataset) {
  return std::make_unique<PreadField>(std::move(file), dataset);
}

}  // namespace headrace::inline v1::detail
