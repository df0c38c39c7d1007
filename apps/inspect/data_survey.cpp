#include <headrace/apps/inspect/data_survey.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/tensor/half_floats.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace headrace::inline v1::app {
namespace {

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return double{to_float(value)};
  }
}

void add_number(FieldSurvey& field, double value) {
  if (!std::isfinite(value)) {
    ++field.not_finite;
    return;
  }
  const bool first = field.numbers++ == 0;
  field.least = first ? value : std::min(field.least, value);
  field.most = first ? value : std::max(field.most, value);
  field.sum += value;
}

template <class T>
void add_values(FieldSurvey& field, const Tensor& tensor) {
  for (const T value : tensor.values<T>())
    add_number(field, as_double(value));
  if constexpr (std::is_integral_v<T>) {
    const bool scalar = field.spec.shape.rank() == 0 && tensor.elements() == 1;
    if (scalar && field.counts.size() <= FieldSurvey::most_counted)
      ++field.counts[static_cast<std::int64_t>(*tensor.data<T>())];
  }
}

void add_values(FieldSurvey& field, const Tensor& tensor) {
  // clang-format off
  switch (tensor.dtype()) {
    case DType::uint8: return add_values<std::uint8_t>(field, tensor);
    case DType::int8: return add_values<std::int8_t>(field, tensor);
    case DType::uint16: return add_values<std::uint16_t>(field, tensor);
    case DType::int16: return add_values<std::int16_t>(field, tensor);
    case DType::uint32: return add_values<std::uint32_t>(field, tensor);
    case DType::int32: return add_values<std::int32_t>(field, tensor);
    case DType::uint64: return add_values<std::uint64_t>(field, tensor);
    case DType::int64: return add_values<std::int64_t>(field, tensor);
    case DType::float16: return add_values<float16_t>(field, tensor);
    case DType::bfloat16: return add_values<bfloat16_t>(field, tensor);
    case DType::float32: return add_values<float>(field, tensor);
    case DType::float64: return add_values<double>(field, tensor);
    case DType::boolean: return add_values<bool>(field, tensor);
  }
  // clang-format on
}

/// The field of one sample.
void add(FieldSurvey& field, const Tensor& tensor) {
  const std::int64_t elements = tensor.elements();
  const bool first = field.samples++ == 0;
  field.shortest = first ? elements : std::min(field.shortest, elements);
  field.longest = std::max(field.longest, elements);
  add_values(field, tensor);
}

void merge(FieldSurvey& all, const FieldSurvey& more) {
  if (more.samples == 0) return;
  all.shortest = all.samples == 0 ? more.shortest : std::min(all.shortest, more.shortest);
  all.longest = std::max(all.longest, more.longest);
  all.samples += more.samples;
  all.not_finite += more.not_finite;
  for (const auto& [value, count] : more.counts)
    if (all.counts.size() <= FieldSurvey::most_counted) all.counts[value] += count;
  if (more.numbers == 0) return;
  all.least = all.numbers == 0 ? more.least : std::min(all.least, more.least);
  all.most = all.numbers == 0 ? more.most : std::max(all.most, more.most);
  all.numbers += more.numbers;
  all.sum += more.sum;
}

DataSurvey empty_survey(const Schema& fields) {
  DataSurvey survey;
  survey.fields.reserve(fields.size());
  for (const FieldSpec& spec : fields)
    survey.fields.push_back({.spec = spec});
  return survey;
}

/// Records one after another, some at a time.
class BlockSurvey {
 public:
  explicit BlockSurvey(const DataPart& part) : part_(part), fixed_(gathers(part)) {}

  /// Of records [first, first + count).
  DataSurvey look_at(std::int64_t first, std::int64_t count) {
    if (fixed_) {
      if (std::optional<DataSurvey> found = gather(first, count)) return std::move(*found);
    }
    DataSurvey found = empty_survey(part_.fields);
    for (std::int64_t i = first; i < first + count; ++i)
      read(found, i);
    return found;
  }

 private:
  static bool gathers(const DataPart& part) {
    const auto is_fixed = [](const FieldSpec& field) {
      return field.kind == FieldSpec::Kind::fixed;
    };
    return !part.make && part.records->gathers() &&
           std::all_of(part.fields.begin(), part.fields.end(), is_fixed);
  }

  /// None where a record is bad: which one, reading them one by one tells.
  std::optional<DataSurvey> gather(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      indices[static_cast<std::size_t>(i)] = first + i;
    std::vector<Tensor> fields;
    std::vector<Rows::Column> columns;
    fields.reserve(part_.fields.size());
    columns.reserve(part_.fields.size());
    for (const FieldSpec& field : part_.fields) {
      fields.push_back(Tensor::empty(field.dtype, field.shape.batched(count)));
      columns.push_back({static_cast<std::byte*>(fields.back().raw()), field.row_bytes()});
    }
    try {
      part_.records->gather(indices, Rows(columns, count));
    } catch (const DataError&) {
      return std::nullopt;
    }
    DataSurvey found = empty_survey(part_.fields);
    found.records = count;
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t row = 0; row < count; ++row)
        add(found.fields[f], fields[f].row(row));
    return found;
  }

  void read(DataSurvey& found, std::int64_t index) {
    ++found.records;
    try {
      sample_.reset();
      part_.records->read(index, sample_);
      if (part_.make) part_.make(sample_);
      for (FieldSurvey& field : found.fields)
        add(field, sample_[field.spec.name]);
    } catch (const DataError& error) {
      found.bad.push_back({index, part_.records->origin(index), error.what()});
    }
  }

  const DataPart& part_;
  bool fixed_;
  Sample sample_;
};

std::int64_t block_records(const Schema& fields) {
  constexpr std::size_t block_bytes = 4_MiB, most_records = 4096;
  std::size_t bytes = 1;
  for (const FieldSpec& field : fields)
    bytes += field.row_bytes();
  return static_cast<std::int64_t>(std::clamp<std::size_t>(block_bytes / bytes, 1, most_records));
}

}  // namespace

DataSurvey survey(const DataPart& part, const SurveyOptions& options) {
  DataSurvey all = empty_survey(part.fields);
  const std::int64_t records = part.records->size();
  const std::int64_t step = block_records(part.fields);
  std::mutex mutex;
  const auto make = [&] {
    return [&, blocks = BlockSurvey(part)](std::size_t block) mutable {
      if (options.stop.stop_requested()) return;
      const std::int64_t first = static_cast<std::int64_t>(block) * step;
      DataSurvey found = blocks.look_at(first, std::min(step, records - first));
      const std::lock_guard lock(mutex);
      all.records += found.records;
      for (std::size_t f = 0; f < all.fields.size(); ++f)
        merge(all.fields[f], found.fields[f]);
      std::move(found.bad.begin(), found.bad.end(), std::back_inserter(all.bad));
      if (options.on_progress) options.on_progress(all.records);
    };
  };
  headrace::detail::in_parallel(static_cast<std::size_t>((records + step - 1) / step),
                                static_cast<std::size_t>(std::max(1, options.threads)), make);
  std::sort(all.bad.begin(), all.bad.end(),
            [](const Survey::Bad& a, const Survey::Bad& b) { return a.index < b.index; });
  return all;
}

}  // namespace headrace::inline v1::app
