#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/json_text.h>

#include <cstdint>
#include <limits>
#include <string>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

constexpr int most_depth = 32;
constexpr std::size_t most_values = std::size_t{1} << 20;
constexpr std::size_t most_shown = 80;

}  // namespace

Json read_json(std::string_view text) {
  std::size_t values = 0;
  const auto bounded = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth > most_depth)
      throw DataError("the metadata must nest at most 32 deep; the file is damaged");
    if (++values > most_values)
      throw DataError("the metadata must have at most a million values; the file is damaged");
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), bounded);
  } catch (const Json::exception& error) {
    throw DataError("the metadata must be JSON: " + printable(error.what(), 200));
  }
  if (!json.is_object()) throw DataError("the metadata must be a JSON object, got " + shown(json));
  return json;
}

const Json& member(const Json& from, const char* key) {
  static const Json none;
  if (!from.is_object()) return none;
  const auto found = from.find(key);
  return found == from.end() ? none : *found;
}

const std::string& text_member(const Json& from, const char* key) {
  const Json& value = member(from, key);
  if (!value.is_string())
    throw DataError(std::string("\"") + key + "\" must be text, got " + shown(value));
  return value.get_ref<const std::string&>();
}

std::vector<std::int64_t> whole_numbers(const Json& from, const char* what, std::int64_t low,
                                        std::size_t least, std::size_t most) {
  if (!from.is_array() || from.size() < least || from.size() > most) {
    throw DataError(std::string("\"") + what + "\" must be a list of " + std::to_string(least) +
                    " to " + std::to_string(most) + " whole numbers, got " + shown(from));
  }
  std::vector<std::int64_t> numbers;
  for (const Json& value : from) {
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() &&
                        value.get<std::uint64_t>() >
                            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || value.get<std::int64_t>() < low) {
      throw DataError(std::string("\"") + what + "\" must have whole numbers from " +
                      std::to_string(low) + " on, got " + shown(from));
    }
    numbers.push_back(value.get<std::int64_t>());
  }
  return numbers;
}

std::string shown(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_object() && value.size() > 8) return "an object";
  if (value.is_array() && value.size() > 16)
    return "a list of " + std::to_string(value.size()) + " values";
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), most_shown);
}

}  // namespace headrace::inline v1::detail
