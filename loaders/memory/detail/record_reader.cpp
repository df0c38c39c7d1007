#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/memory/detail/record_reader.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace headrace::inline v1::detail {
namespace {

/// Bytes that one thread reads at a time.
constexpr std::size_t read_step_bytes = std::size_t{1} << 20;

}  // namespace

RecordReader::RecordReader(const Source& source) : source_(source), fields_(source.fields()) {
  for (const FieldSpec& field : fields_)
    record_bytes_ += field.row_bytes();
}

std::int64_t RecordReader::records_in(std::size_t bytes) const noexcept {
  const std::size_t record = std::max<std::size_t>(record_bytes_, 1);
  return static_cast<std::int64_t>(std::max<std::size_t>(bytes / record, 1));
}

void RecordReader::read(std::int64_t first, std::int64_t count,
                        std::span<const Rows::Column> columns) const {
  const std::int64_t step = records_in(read_step_bytes);
  in_parallel(static_cast<std::size_t>((count + step - 1) / step), [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * step;
    std::vector<Rows::Column> to(columns.begin(), columns.end());
    for (Rows::Column& column : to)
      column.first += static_cast<std::size_t>(begin) * column.stride;
    read_piece(first + begin, Rows(to, std::min(step, count - begin)));
  });
}

void RecordReader::read_piece(std::int64_t first, const Rows& rows) const {
  std::int64_t index = first;
  try {
    if (source_.gathers()) {
      std::vector<std::int64_t> indices(static_cast<std::size_t>(rows.count()));
      std::iota(indices.begin(), indices.end(), first);
      return source_.gather(indices, rows);
    }
    for (std::int64_t k = 0; k < rows.count(); ++k, ++index)
      copy_record(index, rows, k);
  } catch (const DataError& error) {
    throw DataError("[" + source_.name() + "] reading from record " + std::to_string(index) + " (" +
                    source_.origin(index) + "): " + error.what());
  }
}

void RecordReader::copy_record(std::int64_t index, const Rows& rows, std::int64_t k) const {
  Sample sample;
  sample.origin().part = source_.part(index);
  source_.read(index, sample);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Tensor& value = sample[fields_[f].name];
    if (value.dtype() != fields_[f].dtype || value.shape() != fields_[f].shape) {
      throw DataError("field must be " + to_string(fields_[f]) + ", got " +
                      std::string(name_of(value.dtype())) + " " + to_string(value.shape()));
    }
    if (value.bytes() > 0) std::memcpy(rows.row(f, k), value.raw(), value.bytes());
  }
}

}  // namespace headrace::inline v1::detail
