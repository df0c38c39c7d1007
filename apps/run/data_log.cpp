#include <headrace/apps/run/data_log.h>
#include <headrace/engine/base/printable.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct Receiver {
  std::mutex mutex;
  LogCallback to;
};

Receiver& receiver() {
  static Receiver one;
  return one;
}

}  // namespace

void log_data(headrace::LogLevel level, std::string_view line) {
  const std::string text = printable(line);
  const std::lock_guard lock(receiver().mutex);
  if (receiver().to) {
    receiver().to(level, text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void warn_of_data(headrace::LogLevel level, std::string_view line) {
  if (level == headrace::LogLevel::warning) log_data(level, line);
}

DataLogGuard::DataLogGuard(LogCallback to) : before_(std::move(to)) {
  const std::lock_guard lock(receiver().mutex);
  receiver().to.swap(before_);
}

DataLogGuard::~DataLogGuard() {
  const std::lock_guard lock(receiver().mutex);
  receiver().to.swap(before_);
}

}  // namespace headrace::inline v1::app
