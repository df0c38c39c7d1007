#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What shares of presets are taken of.
struct PresetMachine {
  unsigned cores = 1;                         ///< usable ones
  std::uint64_t memory = 0;                   ///< bytes that the process may hold; 0: not known
  std::optional<std::uint64_t> gpu_memory{};  ///< bytes; none: no GPU, or it is not known
};

/// This one, with the first GPU that a run would see.
PresetMachine this_machine();

/// A key that a preset sets.
struct PresetKey {
  std::string key{};    ///< "threads.loader"
  std::string value{};  ///< as in YAML; empty: see `no_more_than`
  /// Another key, whose value this one gets where its own is larger.
  std::string no_more_than{};
  std::string unless{};  ///< another key, which rules this one out where it is above 0
  std::string why{};     ///< "half of 8 cores"
};

/// Settings by a name. None changes what is learnt: they say where and how fast it is done.
struct Preset {
  std::string name{};
  std::string help{};  ///< one line
  std::vector<PresetKey> keys{};
};

/// `conservative`, `balanced`, `aggressive`, and one for each size of card from 8 to 80 GB,
/// `card-24gb`, with the values that they have for that machine.
std::vector<Preset> presets_for(const PresetMachine& machine);

/// The one of that name. Throws ConfigError that names the nearest.
Preset find_preset(const std::string& name, const PresetMachine& machine);

/// All of them, a row for each key: what `headrace config presets` prints.
std::string presets_text(const PresetMachine& machine);

}  // namespace headrace::inline v1::app
