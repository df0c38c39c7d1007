#include <headrace/loaders/listing/internal/record_values.h>
#include <headrace/loaders/listing/labelled_source.h>

namespace headrace::inline v1 {

const std::vector<std::string>& LabelledSource::classes() const noexcept {
  return values().classes;
}

std::int64_t LabelledSource::label(std::int64_t index) const noexcept {
  const detail::RecordValues& all = values();
  if (all.labels.empty() || all.multi_label()) return -1;
  return all.labels[static_cast<std::size_t>(index)];
}

std::vector<std::int64_t> LabelledSource::labels() const {
  const detail::RecordValues& all = values();
  if (all.multi_label()) return {};
  return {all.labels.begin(), all.labels.end()};
}

bool LabelledSource::multi_label() const noexcept {
  return values().multi_label();
}

std::vector<std::int64_t> LabelledSource::label_set(std::int64_t index) const {
  const auto set = values().label_set(static_cast<std::size_t>(index));
  return {set.begin(), set.end()};
}

std::vector<double> LabelledSource::weights() const {
  return {values().weights.begin(), values().weights.end()};
}

std::vector<std::int64_t> LabelledSource::groups() const {
  return {values().groups.begin(), values().groups.end()};
}

const std::vector<std::string>& LabelledSource::group_names() const noexcept {
  return values().group_names;
}

std::vector<DataSplit> LabelledSource::splits() const {
  return values().splits;
}

RecordFile LabelledSource::file(std::int64_t /*index*/) const noexcept {
  return {};
}

RecordFile LabelledSource::mask_file(std::int64_t /*index*/) const noexcept {
  return {};
}

}  // namespace headrace::inline v1
