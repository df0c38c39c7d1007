#include <headrace/apps/memory/allocator_settings.h>

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Rounded down: never more than was asked for.
double share_of(std::uint64_t bytes, std::uint64_t all) {
  constexpr double digits = 1e6;
  if (bytes == 0 || bytes >= all) return 1.0;
  return std::floor(digits * static_cast<double>(bytes) / static_cast<double>(all)) / digits;
}

}  // namespace

std::string AllocatorVariables::settings() const {
  return cuda.value_or(any.value_or(""));
}

AllocatorVariables allocator_variables() {
  return {.cuda = variable("PYTORCH_CUDA_ALLOC_CONF"), .any = variable("PYTORCH_ALLOC_CONF")};
}

std::optional<std::string> allocator_environment(const AllocatorVariables& set) {
  if (set.cuda || set.any) return std::nullopt;
  return "expandable_segments:True";
}

std::string settings_with_share(const std::string& settings, std::uint64_t bytes,
                                std::uint64_t all) {
  if (settings.find(share_of_gpu) != std::string::npos) return settings;
  return fmt::format("{}{}{}:{:.6f}", settings, settings.empty() ? "" : ",", share_of_gpu,
                     share_of(bytes, all));
}

}  // namespace headrace::inline v1::app
