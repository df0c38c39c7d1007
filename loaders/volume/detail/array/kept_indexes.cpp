#include <headrace/loaders/volume/detail/array/kept_indexes.h>

namespace headrace::inline v1::detail {
namespace {

/// With what the containers need.
std::size_t bytes_of(const KeptIndexes::Index& index) {
  return index.size() * sizeof(std::uint64_t) + 128;
}

}  // namespace

KeptIndexes::Shared KeptIndexes::get(std::uint64_t part, const std::function<Index()>& read) {
  Kept& kept = *kept_;
  {
    const std::lock_guard lock(kept.mutex);
    if (const auto found = kept.indexes.find(part); found != kept.indexes.end())
      return found->second;
  }
  auto made = std::make_shared<const Index>(read());
  const std::size_t bytes = bytes_of(*made);
  if (bytes > most_bytes_) return made;
  const std::lock_guard lock(kept.mutex);
  const auto [place, fresh] = kept.indexes.emplace(part, made);
  if (!fresh) return place->second;  // another thread was faster
  kept.age.push_back(part);
  kept.bytes += bytes;
  while (kept.bytes > most_bytes_) {
    const auto eldest = kept.indexes.find(kept.age.front());
    kept.bytes -= bytes_of(*eldest->second);
    kept.indexes.erase(eldest);
    kept.age.pop_front();
  }
  return made;
}

}  // namespace headrace::inline v1::detail
