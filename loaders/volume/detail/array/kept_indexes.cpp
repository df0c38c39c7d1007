#include <headrace/loaders/volume/detail/array/kept_indexes.h>

namespace headrace::inline v1::detail {
namespace {

/// With what the containers need.
std::size_t bytes_of(const KeptIndexes::Index& index) {
  return index.size() * sizeof(std::uint64_t) + 128;
}

}  // namespace

KeptIndexes::Shared KeptIndexes::get(std::uint64_t part, const std::function<Index()>& read) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(part); found != kept_.end()) return found->second;
  }
  auto made = std::make_shared<const Index>(read());
  const std::size_t bytes = bytes_of(*made);
  if (bytes > most_bytes_) return made;
  const std::lock_guard lock(mutex_);
  const auto [place, fresh] = kept_.emplace(part, made);
  if (!fresh) return place->second;  // another thread was faster
  age_.push_back(part);
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    const auto eldest = kept_.find(age_.front());
    bytes_ -= bytes_of(*eldest->second);
    kept_.erase(eldest);
    age_.pop_front();
  }
  return made;
}

}  // namespace headrace::inline v1::detail
