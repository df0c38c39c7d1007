#include <headrace/engine/sample/detail/required.h>
#include <headrace/engine/sample/expanded.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1 {

Expanded::Expanded(std::shared_ptr<const Source> source, std::int64_t each)
    : source_(detail::required(std::move(source), "expanded")), each_(each) {
  if (each_ < 1) {
    throw ConfigError("[expanded] a record gives at least one sample, got " +
                      std::to_string(each_));
  }
}

Expanded::Expanded(std::shared_ptr<const Source> source, std::span<const std::int64_t> counts)
    : source_(detail::required(std::move(source), "expanded")) {
  if (static_cast<std::int64_t>(counts.size()) != source_->size()) {
    throw ConfigError("[expanded] \"" + source_->name() + "\" has " +
                      std::to_string(source_->size()) + " records, got " +
                      std::to_string(counts.size()) + " counts");
  }
  first_.reserve(counts.size() + 1);
  first_.push_back(0);
  for (const std::int64_t count : counts) {
    if (count < 0) {
      throw ConfigError("[expanded] a count is at least 0, record " +
                        std::to_string(first_.size() - 1) + " has " + std::to_string(count));
    }
    first_.push_back(first_.back() + count);
  }
}

std::int64_t Expanded::record(std::int64_t index) const {
  if (each_ > 0) return index / each_;
  return std::ranges::upper_bound(first_, index) - first_.begin() - 1;
}

std::int64_t Expanded::part(std::int64_t index) const {
  return each_ > 0 ? index % each_ : index - first_[detail::at(record(index))];
}

std::string Expanded::name() const {
  return source_->name() + " (expanded)";
}
std::int64_t Expanded::size() const {
  return each_ > 0 ? source_->size() * each_ : first_.back();
}
Schema Expanded::fields() const {
  return source_->fields();
}
void Expanded::read(std::int64_t index, Sample& sample) const {
  sample.origin().part = part(index);
  source_->read(record(index), sample);
}
bool Expanded::read_now(std::int64_t index, Sample& sample) const {
  sample.origin().part = part(index);
  return source_->read_now(record(index), sample);
}
bool Expanded::blocking() const {
  return source_->blocking();
}
std::size_t Expanded::working_bytes(std::int64_t index) const {
  return source_->working_bytes(record(index));
}
std::size_t Expanded::largest_working_bytes() const {
  return source_->largest_working_bytes();
}
std::size_t Expanded::resident_bytes() const {
  return source_->resident_bytes() + first_.size() * sizeof(std::int64_t);
}
std::string Expanded::origin(std::int64_t index) const {
  return source_->origin(record(index));
}

}  // namespace headrace::inline v1
