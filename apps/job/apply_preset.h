#pragma once

#include <headrace/apps/job/presets.h>

#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A key of a preset and what became of it.
struct PresetChange {
  std::string key{};
  std::string before{};    ///< "null"
  std::string after{};     ///< "4"; what stands there in the end
  std::string why{};       ///< of the value
  std::string left_out{};  ///< why the preset does not set it; empty: it does
};

/// A preset as a configuration takes it.
struct AppliedPreset {
  std::string name{};
  std::vector<PresetChange> changes{};
  /// "a.b=c" for each key that is set: to be given before the caller's own settings, which win.
  std::vector<std::string> settings{};
};

/// A configuration's text with every key in use, once these settings are made, and behind them the
/// caller's own. Throws ConfigError where it does not let them.
using TextWith = std::function<std::string(const std::vector<std::string>& settings)>;

/// Finds out which keys of the preset the configuration has and allows; the others are left out.
/// Throws what `text_with` throws of no settings at all, and ConfigError for a name that is no
/// preset's.
AppliedPreset apply_preset(const std::string& name, const PresetMachine& machine,
                           const TextWith& text_with);

/// The settings of a preset before the caller's own; says on standard error what it sets. The own
/// alone where the preset has no name. `text_with` gets all of them, and throws as that of
/// apply_preset(), for this machine.
std::vector<std::string> settings_with_preset(const std::string& preset,
                                              const std::vector<std::string>& own,
                                              const TextWith& text_with);

/// A table for a person, at most 100 columns wide, of every key the preset has: old -> new, or why
/// it is left out.
std::string preset_text(const AppliedPreset& preset);

}  // namespace headrace::inline v1::app
