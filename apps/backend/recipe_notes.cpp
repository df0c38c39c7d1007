#include <headrace/apps/backend/recipe_notes.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

std::vector<std::string> words_of_note(const std::string& name, const std::string& note) {
  const auto json = nlohmann::json::parse(note, nullptr, /*allow_exceptions=*/false);
  if (json.is_array() &&
      std::ranges::all_of(json, [](const auto& word) { return word.is_string(); }))
    return json.get<std::vector<std::string>>();
  throw ConfigError(
      fmt::format("[weights] the note \"{}\" must be a JSON list of words, got {}", name, note));
}

std::vector<std::string> class_names(const std::map<std::string, std::string>& notes) {
  const auto found = notes.find("class_names");
  return found == notes.end() ? std::vector<std::string>()
                              : words_of_note("class_names", found->second);
}

}  // namespace headrace::inline v1::app
