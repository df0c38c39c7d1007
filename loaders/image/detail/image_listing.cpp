#include <headrace/loaders/image/detail/image_listing.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

template <class T>
std::size_t memory_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

void FileTable::add(std::string_view path, std::uint64_t file_bytes) {
  paths += path;
  path_end.push_back(paths.size());
  bytes.push_back(file_bytes);
  largest = std::max(largest, file_bytes);
}

void FileTable::shrink_to_fit() {
  paths.shrink_to_fit();
  path_end.shrink_to_fit();
  bytes.shrink_to_fit();
}

std::size_t FileTable::memory() const noexcept {
  return paths.capacity() + memory_of(path_end) + memory_of(bytes);
}

void ImageListing::shrink_to_fit() {
  images.shrink_to_fit();
  masks.shrink_to_fit();
  labels.shrink_to_fit();
  weights.shrink_to_fit();
  groups.shrink_to_fit();
}

std::size_t ImageListing::memory() const noexcept {
  std::size_t sum =
      images.memory() + masks.memory() + memory_of(labels) + memory_of(weights) + memory_of(groups);
  for (const auto* names : {&classes, &group_names}) {
    for (const std::string& name : *names)
      sum += sizeof name + name.capacity();
  }
  return sum;
}

}  // namespace headrace::inline v1::detail
