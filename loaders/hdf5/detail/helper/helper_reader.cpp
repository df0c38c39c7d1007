#include <headrace/loaders/hdf5/detail/helper/helper_reader.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_work = std::size_t{32} << 20, most_window = std::size_t{1} << 20;
constexpr std::size_t most_rows = 256;

class HelperReader final : public LibraryReader {
 public:
  HelperReader(HelperRows& helper, const HelperDataset& opened, const Hdf5Dataset& dataset)
      : helper_(helper),
        opened_(opened),
        dataset_(dataset),
        held_bytes_(opened.cache_bytes + 4 * dataset.chunk_bytes) {}
  ~HelperReader() override { helper_.close_reader(opened_.number); }

  void read(std::span<const SortedRow> rows) override {
    for (std::size_t first = 0; first < rows.size(); first += at_once())
      read_some(rows.subspan(first, std::min(at_once(), rows.size() - first)));
  }

  void read_places(std::int64_t first, std::int64_t count, std::byte* to) override {
    const std::size_t bytes =
        static_cast<std::size_t>(count * dataset_.inner_rows()) * dataset_.row_bytes;
    WireWriter message;
    message.value(std::uint64_t{opened_.number});
    message.value(first);
    message.value(count);
    helper_.read(question(HelperCall::read_places, bytes + dataset_.chunk_bytes, 1), message, bytes,
                 [&](const std::byte* from) { std::memcpy(to, from, bytes); });
  }

  std::size_t bytes() const override { return held_bytes_ + at_once() * dataset_.row_bytes; }

 private:
  /// Few enough that a row that never comes is soon known for one, and that take little memory.
  std::size_t at_once() const {
    const std::size_t rows = std::min(most_work / row_work(),
                                      most_window / std::max<std::size_t>(dataset_.row_bytes, 1));
    return std::clamp<std::size_t>(rows, 1, most_rows);
  }
  std::size_t row_work() const { return dataset_.row_bytes + dataset_.chunk_bytes; }

  HelperQuestion question(HelperCall kind, std::size_t work, std::size_t rows) const {
    return {.kind = kind,
            .doing = "read rows",
            .work = work,
            .rows = rows,
            .memory = held_bytes_ + work,
            .answer = 0,
            .of = &opened_};
  }

  void read_some(std::span<const SortedRow> rows) {
    WireWriter message;
    message.value(std::uint64_t{opened_.number});
    std::vector<std::int64_t> indices;
    for (const SortedRow& row : rows)
      indices.push_back(row.index);
    message.list(indices);
    helper_.read(question(HelperCall::read_rows, rows.size() * row_work(), rows.size()), message,
                 rows.size() * dataset_.row_bytes, [&](const std::byte* from) {
                   for (const SortedRow& row : rows) {
                     std::memcpy(row.to, from, dataset_.row_bytes);
                     from += dataset_.row_bytes;
                   }
                 });
  }

  HelperRows& helper_;
  HelperDataset opened_;
  Hdf5Dataset dataset_;
  std::size_t held_bytes_;
};

}  // namespace

std::unique_ptr<LibraryReader> helper_reader(HelperRows& rows, const HelperDataset& opened,
                                             const Hdf5Dataset& dataset) {
  return std::make_unique<HelperReader>(rows, opened, dataset);
}

}  // namespace headrace::inline v1::detail
