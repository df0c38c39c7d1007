#pragma once

#include <headrace/engine/base/export.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::monitor {

enum class Severity { info, notice, warning, error };

HEADRACE_API std::string_view to_string(Severity severity);

/// A measured number that a verdict stands on.
struct Evidence {
  std::string name{};  ///< with the unit in it: "data_stall_fraction", "decode_service_us"
  double value = 0.0;
  std::string shown{};  ///< for a person: "data stall 31 %"
};

/// One piece of advice. It exists only with evidence, and says how to check that it was right.
struct HEADRACE_API Advice {
  std::string rule{};  ///< stable name: "raise-threads"
  int number = 0;      ///< of the rule in advice_rules(), from 1; 0: none of them
  Severity severity = Severity::notice;
  std::string verdict{};
  std::vector<Evidence> evidence{};
  /// What to change: a key of configurations, "threads.loader", a command, "ulimit -n", or words
  /// for what only code can change; empty where nothing is to be changed.
  std::string setting{};
  std::string old_value{};  ///< as it is
  std::string new_value{};  ///< as proposed
  std::string action{};     ///< the change in words
  std::string effect{};     ///< predicted: "812 -> 1640 samples/s, data stall 31 % -> 2 %"
  std::string check{};      ///< how to see whether it held
  double weight = 0.0;      ///< how bad it is, 0 to 1; said again only when this gets clearly worse

  /// "verdict · evidence · action (setting old -> new) · effect · check: ...", in one line. The
  /// severity is left to whoever writes it: a log says it as the level.
  std::string line() const;
  /// One JSON object without a line break, for advice.jsonl.
  std::string json() const;
};

/// Remembers what a run was told: rule and setting, whatever the numbers in that, of a process say.
/// Not thread-safe.
class HEADRACE_API AdviceMemory {
 public:
  /// True the first time, and again only when the weight grew by a quarter or the severity rose.
  bool should_say(const Advice& advice);

 private:
  struct Said {
    Severity severity = Severity::info;
    double weight = 0.0;
  };
  std::map<std::string, Said> said_;
};

}  // namespace headrace::inline v1::monitor
