#pragma once

#include <headrace/engine/base/log.h>

#include <string_view>

namespace headrace::inline v1::app {

/// A line that a source has to say, cleaned: to the DataLogGuard that lives, else to standard
/// error. Any thread.
void log_data(headrace::LogLevel level, std::string_view line);

/// The same of warnings alone: for loaders, which say how they are built, too.
void warn_of_data(headrace::LogLevel level, std::string_view line);

/// While it lives, lines of sources go to `to`, from any thread, one at a time; then again to where
/// they went before. Guards end in the reverse of their order.
class DataLogGuard {
 public:
  explicit DataLogGuard(LogCallback to);
  DataLogGuard(const DataLogGuard&) = delete;
  DataLogGuard& operator=(const DataLogGuard&) = delete;
  ~DataLogGuard();

 private:
  LogCallback before_;
};

}  // namespace headrace::inline v1::app
