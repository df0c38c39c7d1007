#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace headrace::inline v1::app {

/// How a run stands, as far as its folder and the system can tell.
enum class RunEnd : unsigned char {
  finished,
  stopped,  ///< by a signal, saved: it can go on
  failed,   ///< with an error
  running,
  elsewhere,  ///< of another machine, without a last word: whether it runs cannot be told
  killed,     ///< without a word, or its machine went down
  unknown,    ///< likewise, or it runs: its folder does not say which process it was
};

/// The last word of the process that came last, from lines of events.jsonl; follows them to their
/// end, from any line on.
struct SaidEnd {
  std::optional<RunEnd> end{};  ///< finished, stopped or failed; nothing: it runs, or was killed
  std::string words{};

  void take(const nlohmann::json& event);
};

/// Of a run that says so, from the process that its env.json names. Takes no lock.
RunEnd run_end(const std::filesystem::path& run, std::optional<RunEnd> said);

/// "finished", "stopped by a signal, and saved", ...
std::string to_string(RunEnd end);

}  // namespace headrace::inline v1::app
