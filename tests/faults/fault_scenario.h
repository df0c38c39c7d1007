#pragma once

#include <headrace/engine/headrace.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headrace::test {

/// A small pipeline whose every byte is known without running it.
struct FaultScenario {
  std::int64_t records = 0;
  std::map<std::string, std::vector<std::string>> rows{};  ///< of each field: bytes of each record
  std::function<Pipeline()> open{};                        ///< opens the source too
  LoaderOptions options{};
  bool replaces = false;  ///< a bad sample is replaced by another
  bool reopens = false;   ///< the source looks a stale file up anew
};

/// Throws std::runtime_error for a name that is none of fault_scenario_names. Makes its files in
/// `folder`.
FaultScenario make_fault_scenario(const std::string& name, const std::filesystem::path& folder);

inline constexpr std::int64_t fault_batch = 3;
inline constexpr std::uint64_t fault_seed = 11;

}  // namespace headrace::test
