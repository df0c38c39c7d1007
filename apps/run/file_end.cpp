#include <headrace/apps/run/file_end.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <system_error>

namespace headrace::inline v1::app {

namespace fs = std::filesystem;

std::vector<std::string> last_lines(const fs::path& file, std::size_t bytes) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code none;
  const auto size = stream ? fs::file_size(file, none) : 0;
  if (none || size == 0) return {};
  const std::uint64_t start = size > bytes ? size - bytes : 0;
  stream.seekg(static_cast<std::streamoff>(start));
  std::string text(static_cast<std::size_t>(size - start), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (start > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

std::int64_t count_lines(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 1 << 16> block{};
  std::int64_t lines = 0;
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0)
    lines += std::count(block.data(), block.data() + stream.gcount(), '\n');
  return lines;
}

double seconds_since_written(const fs::path& file) {
  std::error_code none;
  const auto written = fs::last_write_time(file, none);
  if (none) return -1.0;
  return std::max(
      0.0, std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count());
}

}  // namespace headrace::inline v1::app
