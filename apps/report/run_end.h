#pragma once

#include <headrace/apps/report/log_facts.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

/// How a run stands, as far as its folder and the system can tell.
enum class RunEnd : unsigned char {
  finished,
  stopped,  ///< by a signal, saved: it can go on
  failed,   ///< with an error that its log has
  running,
  elsewhere,  ///< of another machine, without a last word: whether it runs cannot be told
  killed,     ///< without a word, or its machine went down
  unknown,    ///< likewise, or it runs: its folder does not say which process it was
};

/// Of a run whose log ends so, from the process that its env.json names. Takes no lock.
RunEnd run_end(const std::filesystem::path& run, LogEnd said);

/// "finished", "stopped by a signal, and saved", ...
std::string to_string(RunEnd end);

}  // namespace headrace::inline v1::app
