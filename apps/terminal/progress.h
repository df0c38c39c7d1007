#pragma once

#include <headrace/apps/terminal/live_block.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// How far a long piece of work is, on standard error: a bar on a terminal, whole lines now and
/// then elsewhere. Thread-safe.
class Progress {
 public:
  /// `who` begins each line ("pack"); `unit` is what is counted: "images", or "bytes" for amounts
  /// shown as such.
  Progress(std::string who, std::int64_t all, std::string unit, LiveBlockOptions block = {});

  /// Cheap when it is too soon to show anything. `first` were there before this run and say nothing
  /// of its pace; `more` comes after the pace.
  void show(std::int64_t done, std::int64_t first = 0, const std::string& more = "");
  /// A line of its own.
  void say(const std::string& line);
  /// Takes the bar away.
  void end();
  double seconds() const;

 private:
  std::string amount(double value) const;

  std::string who_;
  std::int64_t all_;
  std::string unit_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LiveBlock block_;
};

/// "██████░░░░": 20 columns, filled by the share from 0 to 1.
std::string progress_bar(double share);

}  // namespace headrace::inline v1::app
