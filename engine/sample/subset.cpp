#include <headrace/engine/sample/detail/required.h>
#include <headrace/engine/sample/subset.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <utility>

namespace headrace::inline v1 {

Subset::Subset(std::shared_ptr<const Source> source, std::vector<std::int64_t> indices)
    : source_(detail::required(std::move(source), "subset")), indices_(std::move(indices)) {
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
  source_->read(indices_[detail::at(index)], sample);
}
bool Subset::read_now(std::int64_t index, Sample& sample) const {
  return source_->read_now(indices_[detail::at(index)], sample);
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
  std::ranges::transform(indices, mapped.begin(),
                         [&](std::int64_t i) { return indices_[detail::at(i)]; });
  source_->gather(mapped, rows);
}

std::int64_t Subset::preferred_rows() const {
  return source_->preferred_rows();
}
std::size_t Subset::working_bytes(std::int64_t index) const {
  return source_->working_bytes(indices_[detail::at(index)]);
}
std::size_t Subset::largest_working_bytes() const {
  return source_->largest_working_bytes();
}
std::size_t Subset::resident_bytes() const {
  return source_->resident_bytes() + indices_.size() * sizeof(std::int64_t);
}
std::string Subset::origin(std::int64_t index) const {
  return source_->origin(indices_[detail::at(index)]);
}
std::int64_t Subset::part(std::int64_t index) const {
  return source_->part(indices_[detail::at(index)]);
}

}  // namespace headrace::inline v1
