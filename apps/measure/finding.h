#pragma once

#include <headrace/monitor/advice/advice.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Something of the machine that a run depends on, as it was found.
struct Finding {
  monitor::Severity severity = monitor::Severity::info;  ///< info: as it should be
  std::string what{};                                    ///< "open files"
  std::string found{};                                   ///< "1024, hard limit 4096"
  std::string wanted{};                                  ///< "at least 9000"; empty: nothing
  std::string way_out{};  ///< the one thing to do; empty where there is nothing
  bool known = true;      ///< false: it could not be found out, which is no pass

  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

/// What could not be found out, and why.
inline Finding unknown(std::string what, const std::string& why, std::string wanted = {}) {
  return {.severity = monitor::Severity::notice,
          .what = std::move(what),
          .found = "unknown: " + why,
          .wanted = std::move(wanted),
          .known = false};
}

}  // namespace headrace::inline v1::app
