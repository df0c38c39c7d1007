#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/detail/visible_gpus.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace headrace::inline v1::monitor::detail {
namespace {

std::optional<std::size_t> gpu_called(std::string_view word,
                                      const std::vector<std::string>& uuids) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size())
    return number < uuids.size() ? std::optional(number) : std::nullopt;
  if (!word.starts_with("GPU-")) return std::nullopt;
  const auto found =
      std::ranges::find_if(uuids, [&](const std::string& uuid) { return uuid.starts_with(word); });
  if (found == uuids.end()) return std::nullopt;
  return static_cast<std::size_t>(found - uuids.begin());
}

}  // namespace

std::optional<std::string> cuda_visible_devices(const std::filesystem::path& root, int pid) {
  if (pid <= 0) return std::nullopt;
  const auto text =
      headrace::detail::read_small_file(root / "proc" / std::to_string(pid) / "environ");
  if (!text) return std::nullopt;
  constexpr std::string_view name = "CUDA_VISIBLE_DEVICES=";
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable.starts_with(name)) return std::string(variable.substr(name.size()));
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
  }
  return std::nullopt;
}

std::vector<std::size_t> visible_gpus(const std::optional<std::string>& value,
                                      const std::vector<std::string>& uuids) {
  std::vector<std::size_t> all(uuids.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!value || value->find("MIG-") != std::string::npos) return all;
  std::vector<std::size_t> shown;
  std::string_view rest = *value;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    word.remove_prefix(std::min(word.size(), word.find_first_not_of(' ')));
    word = word.substr(0, word.find(' '));
    const auto gpu = gpu_called(word, uuids);
    if (!gpu) break;
    if (std::ranges::find(shown, *gpu) == shown.end()) shown.push_back(*gpu);
  }
  std::ranges::sort(shown);
  return shown;
}

}  // namespace headrace::inline v1::monitor::detail
