#include <headrace/loaders/listing/internal/record_values.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace headrace::inline v1::detail {

std::span<const std::int32_t> RecordValues::set(std::size_t number) const noexcept {
  const std::uint64_t first = number == 0 ? 0 : set_end[number - 1];
  return std::span(set_classes).subspan(first, set_end[number] - first);
}

std::span<const std::int32_t> RecordValues::label_set(std::size_t record) const noexcept {
  if (labels.empty()) return {};
  if (multi_label()) return set(static_cast<std::size_t>(labels[record]));
  return std::span(labels).subspan(record, 1);
}

void RecordValues::add_fields(Schema& schema) const {
  if (multi_label()) {
    const auto count = static_cast<std::int64_t>(classes.size());
    schema.put(FieldSpec::fixed("labels", DType::uint8, Shape{count}));
  } else if (!labels.empty()) {
    schema.put(FieldSpec::fixed("label", DType::int64, Shape{}));
  }
  if (!weights.empty()) schema.put(FieldSpec::fixed("weight", DType::float32, Shape{}));
}

void RecordValues::fill(std::size_t record, Sample& sample) const {
  if (multi_label()) {
    const auto count = static_cast<std::int64_t>(classes.size());
    auto* flags = sample.make("labels", DType::uint8, Shape{count}).data<std::uint8_t>();
    std::memset(flags, 0, classes.size());
    for (const std::int32_t label : label_set(record))
      flags[label] = 1;
  } else if (!labels.empty()) {
    sample.set_scalar<std::int64_t>("label", labels[record]);
  }
  if (!weights.empty()) sample.set_scalar<float>("weight", weights[record]);
}

void RecordValues::shrink_to_fit() {
  labels.shrink_to_fit();
  set_classes.shrink_to_fit();
  set_end.shrink_to_fit();
  weights.shrink_to_fit();
  groups.shrink_to_fit();
  splits.shrink_to_fit();
}

std::size_t RecordValues::memory() const noexcept {
  std::size_t sum = memory_of(labels) + memory_of(set_classes) + memory_of(set_end) +
                    memory_of(weights) + memory_of(groups) + memory_of(splits);
  for (const auto* names : {&classes, &group_names}) {
    for (const std::string& name : *names)
      sum += sizeof name + name.capacity();
  }
  return sum;
}

void LabelSets::add(std::vector<std::int32_t> classes) {
  std::sort(classes.begin(), classes.end());
  const auto [at, fresh] =
      numbers_.try_emplace(std::move(classes), static_cast<std::int32_t>(numbers_.size()));
  values_.labels.push_back(at->second);
  if (!fresh) return;
  values_.set_classes.insert(values_.set_classes.end(), at->first.begin(), at->first.end());
  values_.set_end.push_back(values_.set_classes.size());
}

bool is_weight(double value) noexcept {
  return value >= 0.0 && value <= static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace headrace::inline v1::detail
