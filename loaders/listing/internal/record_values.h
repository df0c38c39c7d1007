#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/listing/data_split.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What is known of records beside their data. A vector is empty where nothing is known.
struct RecordValues {
  std::vector<std::string> classes;  ///< names, by label
  /// Of each record the number of its class; where `set_end` is not empty, that of its set.
  std::vector<std::int32_t> labels;
  /// The different sets of classes that records have, each in rising order, end to end.
  std::vector<std::int32_t> set_classes;
  std::vector<std::uint64_t> set_end;
  std::vector<float> weights;
  std::vector<std::string> group_names;
  std::vector<std::int32_t> groups;
  std::vector<DataSplit> splits;

  bool multi_label() const noexcept { return !set_end.empty(); }
  /// The classes of a record.
  std::span<const std::int32_t> label_set(std::size_t record) const noexcept;
  /// The classes of a set of that number.
  std::span<const std::int32_t> set(std::size_t number) const noexcept;

  /// The fields that fill() gives a sample.
  void add_fields(Schema& schema) const;
  void fill(std::size_t record, Sample& sample) const;

  void shrink_to_fit();
  std::size_t memory() const noexcept;
};

/// Keeps each different set of classes once.
class LabelSets {
 public:
  explicit LabelSets(RecordValues& values) : values_(values) {}

  /// Gives the next record a set of classes.
  void add(std::vector<std::int32_t> classes);

 private:
  RecordValues& values_;
  std::map<std::vector<std::int32_t>, std::int32_t> numbers_;
};

/// Whether a weight may be kept: a number from 0 on that a float32 can hold.
bool is_weight(double value) noexcept;

template <class T>
std::size_t memory_of(const std::vector<T>& values) noexcept {
  return values.capacity() * sizeof(T);
}

}  // namespace headrace::inline v1::detail
