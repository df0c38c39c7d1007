#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// The value as YAML in a line; nothing where the document has no such key.
std::optional<std::string> value_at(const Node& document, const std::string& key) {
  const Node* node = find_path(document, key);
  if (node == nullptr) return std::nullopt;
  std::string text = to_flow_yaml(*node);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

double number_in(const std::string& text) {
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Application {
 public:
  Application(Preset preset, const TextWith& text_with)
      : preset_(std::move(preset)), text_with_(text_with), base_(document({})) {}

  AppliedPreset run() {
    AppliedPreset applied{.name = preset_.name};
    for (const PresetKey& key : preset_.keys)
      applied.changes.push_back(plan(key));
    if (!take_all(applied)) take_singly(applied);
    const Node after = document(applied.settings);
    for (PresetChange& change : applied.changes)
      if (change.left_out.empty()) change.after = value_at(after, change.key).value_or("");
    return applied;
  }

 private:
  Node document(const std::vector<std::string>& settings) const {
    return parse_document(text_with_(settings), "preset " + preset_.name);
  }

  // Before anything is tried: what the key is now, and what the preset would have it.
  PresetChange plan(const PresetKey& key) const {
    PresetChange change{.key = key.key, .after = key.value, .why = key.why};
    const std::optional<std::string> before = value_at(base_, key.key);
    if (!before) {
      change.left_out = "this configuration does not use it";
      return change;
    }
    change.before = *before;
    if (!key.unless.empty() && number_in(value_at(base_, key.unless).value_or("0")) > 0.0) {
      change.left_out = key.unless + " is set";
      return change;
    }
    if (key.no_more_than.empty()) return change;
    const std::optional<std::string> most = value_at(base_, key.no_more_than);
    if (!most) {
      change.left_out = fmt::format("this configuration has no {}", key.no_more_than);
    } else {
      change.after = number_in(*before) > number_in(*most) ? *most : *before;
    }
    return change;
  }

  static std::string setting(const PresetChange& change) { return change.key + '=' + change.after; }

  // Mostly all of them are allowed, and reading a configuration may look at its data.
  bool take_all(AppliedPreset& applied) const {
    std::vector<std::string> settings;
    for (const PresetChange& change : applied.changes)
      if (change.left_out.empty()) settings.push_back(setting(change));
    try {
      static_cast<void>(text_with_(settings));
    } catch (const ConfigError&) {
      return false;
    }
    applied.settings = std::move(settings);
    return true;
  }

  void take_singly(AppliedPreset& applied) const {
    for (PresetChange& change : applied.changes) {
      if (!change.left_out.empty()) continue;
      applied.settings.push_back(setting(change));
      try {
        static_cast<void>(text_with_(applied.settings));
      } catch (const ConfigError& error) {
        applied.settings.pop_back();
        change.left_out = error.what();
      }
    }
  }

  Preset preset_;
  const TextWith& text_with_;
  Node base_;
};

}  // namespace

AppliedPreset apply_preset(const std::string& name, const PresetMachine& machine,
                           const TextWith& text_with) {
  return Application(find_preset(name, machine), text_with).run();
}

std::vector<std::string> settings_with_preset(const std::string& preset,
                                              const std::vector<std::string>& own,
                                              const TextWith& text_with) {
  if (preset.empty()) return own;
  const auto joined = [&own](std::vector<std::string> settings) {
    settings.insert(settings.end(), own.begin(), own.end());
    return settings;
  };
  const AppliedPreset applied = apply_preset(
      preset, this_machine(),
      [&](const std::vector<std::string>& settings) { return text_with(joined(settings)); });
  fmt::print(stderr, "{}", preset_text(applied));
  return joined(applied.settings);
}

std::string preset_text(const AppliedPreset& preset) {
  constexpr std::size_t columns = 100;
  std::size_t widest = 0;
  for (const PresetChange& change : preset.changes)
    widest = std::max(widest, change.key.size());
  std::string text = fmt::format("preset {}\n", preset.name);
  for (const PresetChange& change : preset.changes) {
    std::string said = "left out: " + change.left_out;
    if (change.left_out.empty())
      said = change.before == change.after
                 ? "stays " + change.after
                 : fmt::format("{} -> {} ({})", change.before, change.after, change.why);
    std::string name = change.key;
    for (const std::string& line : wrapped(said, columns - widest - 4)) {
      text += fmt::format("  {:<{}}  {}\n", name, widest, line);
      name.clear();
    }
  }
  return text;
}

}  // namespace headrace::inline v1::app
