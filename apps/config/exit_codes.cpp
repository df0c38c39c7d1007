#include <headrace/apps/config/exit_codes.h>

#include <new>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string_view name_of(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return "done";
    case ExitCode::bug:
      return "bug";
    case ExitCode::configuration:
      return "configuration";
    case ExitCode::data:
      return "data";
    case ExitCode::resources:
      return "resources";
    case ExitCode::numeric:
      return "numeric";
    case ExitCode::checkpoint:
      return "checkpoint";
    case ExitCode::device:
      return "device";
    case ExitCode::goals:
      return "goals";
    case ExitCode::interrupted:
      return "interrupted";
    case ExitCode::hang:
      return "hang";
    case ExitCode::warned:
      return "warned";
    case ExitCode::terminated:
      return "terminated";
  }
  return "unknown";
}

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

}  // namespace

std::string to_string(ExitCode code) {
  return fmt::format("{} ({})", static_cast<int>(code), name_of(code));
}

ExitCode exit_code_of(const std::exception& error) noexcept {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) return failure->code();
  if (is<ConfigError>(error)) return ExitCode::configuration;
  if (is<ResourceError>(error) || is<std::bad_alloc>(error)) return ExitCode::resources;
  if (is<DeviceError>(error)) return ExitCode::device;
  if (is<DataError>(error) || is<PipelineError>(error)) return ExitCode::data;
  return ExitCode::bug;
}

}  // namespace headrace::inline v1::app
