#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <algorithm>

namespace headrace::inline v1::detail {

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

}  // namespace headrace::inline v1::detail
