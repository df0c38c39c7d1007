#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::detail {

/// A file of metadata read as JSON: an object, at most 32 deep, of at most a million values. Throws
/// DataError with the rule alone.
nlohmann::json read_json(std::string_view text);

/// The member of an object; null where there is none, or `from` is no object.
const nlohmann::json& member(const nlohmann::json& from, const char* key);

/// A member that must be text. Throws DataError with the rule alone, as the next.
const std::string& text_member(const nlohmann::json& from, const char* key);

/// A list of `least` to `most` whole numbers from `low` on; `what` is its name in messages.
std::vector<std::int64_t> whole_numbers(const nlohmann::json& from, const char* what,
                                        std::int64_t low, std::size_t least, std::size_t most);

/// As messages show a value: its beginning, printable.
std::string shown(const nlohmann::json& value);

}  // namespace headrace::inline v1::detail
