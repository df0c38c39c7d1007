#pragma once

#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The words of a recipe's note of that name, a JSON list. Throws ConfigError for another text.
std::vector<std::string> words_of_note(const std::string& name, const std::string& note);

/// The names of the classes by a recipe's note "class_names"; none where it has none. Throws
/// ConfigError for a note that is no JSON list of words.
std::vector<std::string> class_names(const std::map<std::string, std::string>& notes);

}  // namespace headrace::inline v1::app
