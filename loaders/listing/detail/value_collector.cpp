#include <headrace/engine/base/error.h>
#include <headrace/engine/base/utf8.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/value_collector.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

void check_name(std::string_view name, const std::string& column, const std::string& file,
                std::int64_t line) {
  if (name.empty())
    refuse_line(
        file, line,
        column + " must be a name or a number, got nothing; give one, or leave the row out");
  if (name.size() > longest_name) {
    refuse_line(file, line,
                column + " must have at most " + std::to_string(longest_name) + " bytes, got " +
                    std::to_string(name.size()));
  }
  if (!is_utf8(name))
    refuse_line(file, line, column + " must be UTF-8, got other bytes; save the file as UTF-8");
}

float weight_of(std::string_view text, const std::string& file, std::int64_t line) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !is_weight(value))
    refuse_line(file, line, "weight must be a number from 0 on, got " + detail::quoted(text));
  return static_cast<float>(value);
}

/// A number as tables with gaps write it, "1.0", is "1".
std::string_view without_zeros(std::string_view text) {
  const std::size_t point = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0);
  const bool zeros = point != std::string_view::npos && point > 0 && text[point] == '.' &&
                     point + 1 < text.size() &&
                     text.find_first_not_of('0', point + 1) == std::string_view::npos;
  return zeros ? text.substr(0, point) : text;
}

/// What programs write where a value is missing.
bool says_none(std::string_view name) {
  return name == "nan" || name == "NaN" || name == "NAN" || name == "<NA>";
}

}  // namespace

ValueCollector::ValueCollector(const ManifestRequest& request) : request_(request) {
  for (const std::string& name : request.classes)
    label_names_.number(name);
}

void ValueCollector::take(const ManifestRow& row) {
  if (!found_.labels.empty()) {
    take_flags(row);
  } else if (!found_.label.empty()) {
    take_names(row);
  }
  if (!found_.weight.empty())
    values_.weights.push_back(weight_of(trimmed(row.weight), request_.file, row.line));
  if (!found_.group.empty()) take_group(row);
  if (!found_.split.empty()) take_split(row);
}

void ValueCollector::take_label(std::string_view written, std::int64_t line) {
  const std::string_view name = without_zeros(trimmed(written));
  check_name(name, found_.label, request_.file, line);
  if (says_none(name))
    refuse_line(request_.file, line,
                found_.label + " must be a class, got " + detail::quoted(name) +
                    ", which stands for a missing value; give the record a class, or leave it out");
  const std::int32_t number = label_names_.number(name);
  const std::vector<std::string>& classes = request_.classes;
  if (!classes.empty() && static_cast<std::size_t>(number) >= classes.size()) {
    refuse_line(request_.file, line,
                found_.label + " must be one of the " + std::to_string(classes.size()) +
                    " classes, got " + detail::quoted(name) + suggestion(name, classes));
  }
  labels_.push_back(number);
}

void ValueCollector::take_names(const ManifestRow& row) {
  const std::string& separator = found_.label_separator;
  if (separator.empty()) {
    take_label(row.label, row.line);
    return;
  }
  if (trimmed(row.label).empty()) {
    refuse_line(request_.file, row.line,
                found_.label +
                    " must name a class, got nothing; where records may have none, give a column "
                    "of 0 and 1 per class (labels)");
  }
  const auto first = static_cast<std::ptrdiff_t>(labels_.size());
  for (std::string_view rest = row.label;;) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    take_label(rest.substr(0, end), row.line);
    const auto last = labels_.end() - 1;
    if (std::find(labels_.begin() + first, last, *last) != last) {
      refuse_line(request_.file, row.line,
                  found_.label + " must name a class once, got " + detail::quoted(row.label));
    }
    if (end == rest.size()) break;
    rest.remove_prefix(end + separator.size());
  }
  label_end_.push_back(labels_.size());
}

void ValueCollector::take_flags(const ManifestRow& row) {
  for (std::size_t i = 0; i < row.labels.size(); ++i) {
    const std::string_view flag = without_zeros(trimmed(row.labels[i]));
    if (flag == "1") {
      labels_.push_back(static_cast<std::int32_t>(i));
    } else if (flag != "0") {
      refuse_line(request_.file, row.line,
                  request_.columns.labels[i] + " must be 0 or 1, got " +
                      detail::quoted(row.labels[i]) + "; say what it is, or leave the record out");
    }
  }
  label_end_.push_back(labels_.size());
}

void ValueCollector::take_group(const ManifestRow& row) {
  const std::string_view group = trimmed(row.group);
  check_name(group, found_.group, request_.file, row.line);
  values_.groups.push_back(group_names_.number(group));
}

void ValueCollector::take_split(const ManifestRow& row) {
  const auto split = split_named(trimmed(row.split));
  if (!split) {
    refuse_line(request_.file, row.line,
                found_.split + " must be train, validation or test, got " +
                    detail::quoted(row.split) + suggestion(row.split, split_words()));
  }
  values_.splits.push_back(*split);
  if (found_.group.empty()) return;
  const auto group = static_cast<std::size_t>(values_.groups.back());
  if (group == group_split_.size()) group_split_.push_back(*split);
  if (group_split_[group] != *split) {
    refuse_line(request_.file, row.line,
                found_.group + " " + detail::quoted(row.group) + " must be in one split, got " +
                    std::string(name_of(*split)) + " after " +
                    std::string(name_of(group_split_[group])));
  }
}

std::size_t ValueCollector::memory() const noexcept {
  return values_.memory() + memory_of(labels_) + memory_of(label_end_) + memory_of(group_split_) +
         label_names_.memory() + group_names_.memory();
}

RecordValues ValueCollector::finish() {
  settle_labels();
  if (!values_.groups.empty()) values_.group_names = group_names_.settle(values_.groups);
  return std::move(values_);
}

void ValueCollector::settle_labels() {
  const bool flags = !found_.labels.empty();
  if (found_.label.empty() && !flags) return;
  if (flags) {
    for (const std::string& column : found_.labels)
      check_name(column, "a column of labels", request_.file, 1);
    values_.classes = found_.labels;
    if (!request_.classes.empty() && request_.classes != found_.labels)
      refuse_line(request_.file, 1, "the columns of labels must be the classes, in their order");
  } else {
    if (const auto below = label_names_.below_zero())
      throw ConfigError("[manifest] " + printable(request_.file) +
                        ": labels that are whole numbers must be 0 or more, got " + *below +
                        "; give these records a class, or leave them out");
    if (const auto twice = label_names_.written_twice())
      throw ConfigError("[manifest] " + printable(request_.file) + ": labels " +
                        detail::quoted(twice->first) + " and " + detail::quoted(twice->second) +
                        " are one number in two ways; write them alike, or as names (c7, c007)");
    values_.classes =
        request_.classes.empty() ? label_names_.settle_classes(labels_) : request_.classes;
  }
  if (flags || !found_.label_separator.empty()) {
    make_sets();
  } else {
    values_.labels = std::move(labels_);
  }
}

void ValueCollector::make_sets() {
  LabelSets sets(values_);
  auto first = labels_.begin();
  for (const std::uint64_t end : label_end_) {
    const auto last = labels_.begin() + static_cast<std::ptrdiff_t>(end);
    sets.add({first, last});
    first = last;
  }
}

}  // namespace headrace::inline v1::detail
