#include <headrace/engine/source.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <utility>

namespace headrace::inline v1 {

namespace {

template <class S>
std::shared_ptr<const S> required(std::shared_ptr<const S> source, const char* who) {
  if (source == nullptr) throw ConfigError("[" + std::string(who) + "] needs a source, got none");
  return source;
}

std::size_t at(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

}  // namespace

void Source::gather(std::span<const std::int64_t>, const Rows&) const {
  throw PipelineError("[" + name() + "] gather() was called, this source reads record by record");
}

std::size_t Source::working_bytes(std::int64_t) const {
  std::size_t total = 0;
  for (const FieldSpec& field : fields())
    total += field.row_bytes();
  return total;
}

std::size_t Source::largest_working_bytes() const {
  return Source::working_bytes(0);
}

std::string Source::origin(std::int64_t index) const {
  return name() + "#" + std::to_string(index);
}

Subset::Subset(std::shared_ptr<const Source> source, std::vector<std::int64_t> indices)
    : source_(required(std::move(source), "subset")), indices_(std::move(indices)) {
  const std::int64_t size = source_->size();
  const auto outside =
      std::ranges::find_if(indices_, [&](std::int64_t i) { return i < 0 || i >= size; });
  if (outside != indices_.end()) {
    throw ConfigError("[subset] an index of \"" + source_->name() + "\" is below " +
                      std::to_string(size) + ", entry " +
                      std::to_string(outside - indices_.begin()) + " is " +
                      std::to_string(*outside));
  }
}

std::string Subset::name() const {
  return source_->name() + " (" + std::to_string(indices_.size()) + " of " +
         std::to_string(source_->size()) + ")";
}
std::int64_t Subset::size() const {
  return static_cast<std::int64_t>(indices_.size());
}
Schema Subset::fields() const {
  return source_->fields();
}
void Subset::read(std::int64_t index, Sample& sample) const {
  source_->read(indices_[at(index)], sample);
}
bool Subset::read_now(std::int64_t index, Sample& sample) const {
  return source_->read_now(indices_[at(index)], sample);
}
bool Subset::blocking() const {
  return source_->blocking();
}
bool Subset::gathers() const {
  return source_->gathers();
}

void Subset::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  std::array<std::byte, 16 * 1024> space;
  std::pmr::monotonic_buffer_resource pool(space.data(), space.size());
  std::pmr::vector<std::int64_t> mapped(indices.size(), &pool);
  std::ranges::transform(indices, mapped.begin(), [&](std::int64_t i) { return indices_[at(i)]; });
  source_->gather(mapped, rows);
}

std::int64_t Subset::preferred_rows() const {
  return source_->preferred_rows();
}
std::size_t Subset::working_bytes(std::int64_t index) const {
  return source_->working_bytes(indices_[at(index)]);
}
std::size_t Subset::largest_working_bytes() const {
  return source_->largest_working_bytes();
}
std::size_t Subset::resident_bytes() const {
  return source_->resident_bytes() + indices_.size() * sizeof(std::int64_t);
}
std::string Subset::origin(std::int64_t index) const {
  return source_->origin(indices_[at(index)]);
}
std::int64_t Subset::part(std::int64_t index) const {
  return source_->part(indices_[at(index)]);
}

Expanded::Expanded(std::shared_ptr<const Source> source, std::int64_t each)
    : source_(required(std::move(source), "expanded")), each_(each) {
  if (each_ < 1) {
    throw ConfigError("[expanded] a record gives at least one sample, got " +
                      std::to_string(each_));
  }
}

Expanded::Expanded(std::shared_ptr<const Source> source, std::span<const std::int64_t> counts)
    : source_(required(std::move(source), "expanded")) {
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
  return each_ > 0 ? index % each_ : index - first_[at(record(index))];
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
