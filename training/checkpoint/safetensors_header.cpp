#include <headrace/engine/base/printable.h>
#include <headrace/training/checkpoint/safetensors_header.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::training::detail {

namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> item_sizes{{{"F64", 8},
                                                                                 {"I64", 8},
                                                                                 {"U64", 8},
                                                                                 {"F32", 4},
                                                                                 {"I32", 4},
                                                                                 {"U32", 4},
                                                                                 {"F16", 2},
                                                                                 {"BF16", 2},
                                                                                 {"I16", 2},
                                                                                 {"U16", 2},
                                                                                 {"F8_E4M3", 1},
                                                                                 {"F8_E5M2", 1},
                                                                                 {"I8", 1},
                                                                                 {"U8", 1},
                                                                                 {"BOOL", 1}}};

constexpr std::size_t max_rank = 64;
constexpr std::string_view metadata_name = "__metadata__";

std::string shown(std::string_view name) {
  return "\"" + printable(name, 200) + "\"";
}

// Follows the parser's events through the three shapes a header may have, and refuses all else as
// it comes: nothing is built for what the format does not know.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string who) : who_(std::move(who)) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start:
        place_ = Place::names;
        return true;
      case Place::name:
        place_ = key_ == metadata_name ? Place::metadata : Place::entry;
        return true;
      default:
        refuse("an object where none belongs");
    }
  }

  bool key(std::string& key) override {
    if (!names_at(place_).insert(key).second) refuse("the name " + shown(key) + " twice");
    key_ = key;
    if (place_ == Place::names) {
      place_ = Place::name;
      names_at(Place::entry).clear();
      names_at(Place::metadata).clear();
      if (key != metadata_name) header_.entries.push_back({.name = key});
    } else if (place_ == Place::entry && key != "dtype" && key != "shape" &&
               key != "data_offsets") {
      refuse("the unknown key " + shown(key) + " in tensor " + shown(header_.entries.back().name));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      header_.metadata.emplace(key_, value);
    } else if (place_ == Place::entry && key_ == "dtype") {
      header_.entries.back().dtype = value;
    } else {
      refuse("the string " + shown(value) + " where none belongs");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || key_ == "dtype") refuse("an array where none belongs");
    numbers_.clear();
    place_ = Place::numbers;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::numbers) refuse("a number where none belongs");
    if (numbers_.size() == max_rank)
      refuse("more than " + std::to_string(max_rank) + " dimensions");
    numbers_.push_back(value);
    return true;
  }

  bool end_array() override {
    SafetensorsEntry& entry = header_.entries.back();
    if (key_ == "shape") {
      for (const std::uint64_t side : numbers_) {
        if (side > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          refuse("a side of " + std::to_string(side) + " in tensor " + shown(entry.name));
        entry.shape.push_back(static_cast<std::int64_t>(side));
      }
    } else {
      if (numbers_.size() != 2)
        refuse("data_offsets of " + std::to_string(numbers_.size()) + " numbers");
      entry.begin = numbers_[0];
      entry.end = numbers_[1];
    }
    place_ = Place::entry;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry && names_at(Place::entry).size() != 3)
      refuse("tensor " + shown(header_.entries.back().name) +
             " without dtype, shape or data_offsets");
    place_ = place_ == Place::names ? Place::end : Place::names;
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool number_integer(std::int64_t value) override {
    refuse("the number " + std::to_string(value));
  }
  bool number_float(double, const std::string& text) override {
    refuse("the number " + text.substr(0, 40));
  }
  bool binary(nlohmann::json::binary_t&) override { refuse("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    throw CheckpointError(who_ + ": the header must be JSON, it is broken at byte " +
                          std::to_string(position));
  }

 private:
  enum class Place { start, names, name, metadata, entry, numbers, end };

  [[noreturn]] void refuse(const std::string& what) const {
    throw CheckpointError(
        who_ + ": the header must map names to dtype, shape and data_offsets, it holds " + what);
  }

  std::set<std::string, std::less<>>& names_at(Place place) {
    return place == Place::names ? names_ : inner_names_;
  }

  std::string who_;
  SafetensorsHeader header_;
  Place place_ = Place::start;
  std::string key_;
  std::vector<std::uint64_t> numbers_;
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> inner_names_;
};

std::uint64_t byte_size(const SafetensorsEntry& entry, const std::string& who) {
  std::uint64_t size = safetensors_item_size(entry.dtype);
  if (size == 0)
    throw CheckpointError(who + ": tensor " + shown(entry.name) + " has the unknown dtype " +
                          shown(entry.dtype));
  // A zero among the sides does not excuse the product of the others: it must fit as well.
  bool empty = false;
  for (const std::int64_t side : entry.shape) {
    if (side == 0)
      empty = true;
    else if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(side), &size) ||
             size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw CheckpointError(who + ": the size of tensor " + shown(entry.name) + " overflows");
  }
  return empty ? 0 : size;
}

void check_ranges(const SafetensorsHeader& header, std::uint64_t data_bytes,
                  const std::string& who) {
  std::uint64_t expected = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != expected || entry.end < entry.begin)
      throw CheckpointError(who + ": the data of tensor " + shown(entry.name) +
                            " must begin at byte " + std::to_string(expected) +
                            " without hole or overlap, got [" + std::to_string(entry.begin) + ", " +
                            std::to_string(entry.end) + ")");
    const std::uint64_t size = byte_size(entry, who);
    if (entry.end - entry.begin != size)
      throw CheckpointError(who + ": tensor " + shown(entry.name) + " needs " +
                            std::to_string(size) + " bytes, its range has " +
                            std::to_string(entry.end - entry.begin));
    expected = entry.end;
  }
  if (expected != data_bytes)
    throw CheckpointError(who + ": the header describes " + std::to_string(expected) +
                          " bytes of data, the file has " + std::to_string(data_bytes));
}

}  // namespace

std::uint64_t safetensors_item_size(std::string_view dtype) {
  const auto* found =
      std::ranges::find(item_sizes, dtype, &std::pair<std::string_view, std::uint64_t>::first);
  return found == item_sizes.end() ? 0 : found->second;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& who) {
  if (!json.starts_with('{')) throw CheckpointError(who + ": the header must begin with {");
  // The parser takes a zero for the end of its text, and line ends for blanks.
  if (const auto zero = json.find('\0'); zero != std::string_view::npos)
    throw CheckpointError(who + ": the header must be text, got a zero at byte " +
                          std::to_string(zero));
  const std::size_t end = json.find_last_of('}') + 1;
  if (const auto more = json.find_first_not_of(' ', end); end > 0 && more != std::string_view::npos)
    throw CheckpointError(who + ": behind the header there may be spaces alone, got byte " +
                          std::to_string(static_cast<unsigned char>(json[more])) + " at " +
                          std::to_string(more));
  HeaderReader reader(who);
  nlohmann::json::sax_parse(json, &reader);
  SafetensorsHeader header = reader.take();
  std::ranges::sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::tuple(entry.begin, entry.end, std::string_view(entry.name));
  });
  check_ranges(header, data_bytes, who);
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) {
    auto& metadata = json[std::string(metadata_name)];
    for (const auto& [key, value] : header.metadata)
      metadata[key] = value;
  }
  for (const SafetensorsEntry& entry : header.entries)
    json[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace headrace::inline v1::training::detail
