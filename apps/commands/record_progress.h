#pragma once

#include <headrace/apps/terminal/live_block.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// How far a long job over records is, on standard error: a bar on a terminal, lines elsewhere.
class RecordProgress {
 public:
  RecordProgress(std::string what, std::int64_t all);

  /// Cheap when it is too soon to show anything. `first` records were there before this run and say
  /// nothing of its pace; `more` comes after the pace.
  void show(std::int64_t done, std::int64_t first, const std::string& more);
  /// A line of its own.
  void say(const std::string& line);
  /// Takes the bar away.
  void end();
  double seconds() const;

 private:
  std::string what_;
  std::int64_t all_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LiveBlock block_;
};

}  // namespace headrace::inline v1::app
