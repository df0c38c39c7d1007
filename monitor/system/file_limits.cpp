#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/system/file_limits.h>

#include <string_view>
#include <system_error>

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::split_lines;
using headrace::detail::split_words;
using headrace::detail::to_number;

struct Limit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

std::optional<std::uint64_t> value_of(std::string_view word) {
  if (word == "unlimited") return no_limit;
  const auto number = to_number(word);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// "Max open files            1024                 524288               files"
std::optional<Limit> limit_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with(name)) continue;
    const auto words = split_words(line.substr(name.size()));
    if (words.size() < 2) return std::nullopt;
    const auto soft = value_of(words[0]);
    const auto hard = value_of(words[1]);
    if (!soft || !hard) return std::nullopt;
    return Limit{*soft, *hard};
  }
  return std::nullopt;
}

std::uint64_t entries_of(const fs::path& folder) {
  std::error_code error;
  std::uint64_t count = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    ++count;
  return count;
}

}  // namespace

std::optional<RunFacts::Files> read_file_limits(const FileNeeds& needs, const fs::path& root) {
  const auto text = read_small_file(root / "proc/self/limits");
  if (!text) return std::nullopt;
  const auto files = limit_of(*text, "Max open files");
  const auto locked = limit_of(*text, "Max locked memory");
  if (!files || !locked) return std::nullopt;
  const std::uint64_t open = entries_of(root / "proc/self/fd");
  return RunFacts::Files{.open = open,
                         .limit = files->soft,
                         .hard_limit = files->hard,
                         .needed = open + needs.open,
                         .locked_limit = locked->soft,
                         .locked_needed = needs.locked};
}

}  // namespace headrace::inline v1::monitor
