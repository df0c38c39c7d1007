#pragma once

#include <headrace/apps/report/run_end.h>
#include <headrace/apps/report/text_lines.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run has said, and how often.
struct SaidLine {
  double first = 0.0;  ///< seconds since 1970
  double last = 0.0;
  std::uint64_t times = 1;
  std::string text{};
};

/// events.jsonl; empty of a run that wrote none.
struct RunEvents {
  LineCount count{};
  std::optional<double> first{};  ///< seconds since 1970
  std::optional<double> last{};
  std::vector<SaidLine> verdicts{};  ///< neighbours that say the same are one; at most 200
  std::vector<SaidLine> warnings{};  ///< each text once; at most 200
  std::uint64_t more_verdicts = 0;   ///< that had no room
  std::uint64_t more_warnings = 0;
  std::string device{};       ///< "cpu (auto: ...)"
  std::string memory_plan{};  ///< "memory 453 MiB of 10.0 GiB (configuration): ..."
  SaidEnd ending{};
  bool resumed = false;  ///< by another process
};

/// Reads it line by line; its size does not matter.
RunEvents read_events(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
