#include <headrace/apps/config/document.h>
#include <headrace/apps/doctor/environment_needs.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Folders that a run writes.
bool is_own_folder(std::string_view key) {
  constexpr std::array<std::string_view, 4> own{"listings", "stage", "cache", "folder"};
  return std::find(own.begin(), own.end(), key) != own.end();
}

fs::path first_present(const Node& node) {
  if (node.kind == Node::Kind::scalar) {
    std::error_code error;
    const bool present =
        node.text.find_first_of("/.") != std::string::npos || fs::is_directory(node.text, error);
    return present && fs::exists(node.text, error) ? fs::path(node.text) : fs::path{};
  }
  for (const Node& item : node.items)
    if (fs::path found = first_present(item); !found.empty()) return found;
  for (const Entry& entry : node.entries) {
    if (is_own_folder(entry.key)) continue;
    if (fs::path found = first_present(entry.value); !found.empty()) return found;
  }
  return {};
}

}  // namespace

EnvironmentOptions environment_of(const TrainingJob& job) {
  const JobConfig& config = *job.config;
  EnvironmentOptions options;
  options.runs = config.runs;
  options.needs.gpu = config.device == DeviceChoice::cuda;
  options.needs.loader_threads = config.threads.loader;
  options.needs.torch_threads = config.threads.torch;
  if (config.memory.limit) options.needs.memory_limit = config.memory.limit->value;
  const Node document = parse_document(job.yaml, "configuration");
  if (const Entry* data = document.find("data")) options.data = first_present(data->value);
  return options;
}

}  // namespace headrace::inline v1::app
