#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/loaders/image/map_mask.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

namespace headrace::inline v1 {
namespace {

constexpr std::int16_t unknown = -1;

/// The label of every value that a mask of this type can hold, `unknown` where the map has none.
std::vector<std::int16_t> table_of(const MapMask& map, DType dtype) {
  std::vector<std::int16_t> table(dtype == DType::uint8 ? 256 : 65536, unknown);
  for (const MaskValue& value : map.values) {
    if (value.value < table.size()) table[value.value] = value.label;
  }
  for (const std::uint16_t value : map.ignored) {
    if (value < table.size()) table[value] = map.ignore_label;
  }
  return table;
}

std::string names_of(const std::vector<std::uint16_t>& values) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return values.size() > most ? text + ", ..." : text;
}

/// The values of the map in rising order.
std::vector<std::uint16_t> known_values(const MapMask& map) {
  std::vector<std::uint16_t> known = map.ignored;
  for (const MaskValue& value : map.values)
    known.push_back(value.value);
  std::sort(known.begin(), known.end());
  return known;
}

template <class T>
[[noreturn]] void refuse_value(const MapMask& map, const T* stored, std::size_t count, T value) {
  const std::vector<std::uint16_t> known = known_values(map);
  const auto nearest = std::ranges::min_element(
      known, {}, [value](std::uint16_t other) { return std::abs(int{other} - int{value}); });
  throw DataError("mask \"" + map.mask + "\" must have the values of its map (" + names_of(known) +
                  "), got " + std::to_string(value) + " in " +
                  std::to_string(std::count(stored, stored + count, value)) + " of " +
                  std::to_string(count) + " pixels; the nearest is " + std::to_string(*nearest) +
                  "; give the value a class, or let it be ignored");
}

}  // namespace

Schema MapMask::schema(const Schema& in) const {
  const auto refuse = [this](const std::string& rule) {
    throw ConfigError("[" + name() + "] mask \"" + mask + "\": " + rule);
  };
  FieldSpec field = in.at(mask, name());
  const bool is_mask = (field.dtype == DType::uint8 || field.dtype == DType::uint16) &&
                       field.shape.rank() == 2 && field.kind != FieldSpec::Kind::ragged;
  if (!is_mask) refuse("must be uint8 or uint16 [height, width], got " + to_string(field));
  if (values.empty()) refuse("must have a map with at least one value, got none");
  std::set<std::uint16_t> seen;
  for (const std::uint16_t value : known_values(*this)) {
    if (!seen.insert(value).second)
      refuse("value " + std::to_string(value) + " must be in the map once, is there twice");
    if (field.dtype == DType::uint8 && value > std::numeric_limits<std::uint8_t>::max())
      refuse("value " + std::to_string(value) + " is beyond uint8; decode masks as uint16");
  }
  field.dtype = DType::uint8;
  if (field.kind == FieldSpec::Kind::padded) field.fill = ignore_label;
  Schema out = in;
  out.put(field);
  return out;
}

void MapMask::operator()(Sample& sample) const {
  const Tensor stored = sample[mask];
  const std::vector<std::int16_t> table = table_of(*this, stored.dtype());
  const auto count = static_cast<std::size_t>(stored.shape().elements());
  Tensor& labels = sample.make(mask, DType::uint8, stored.shape());
  visit_labels(stored, [&](const auto* from) {
    auto* to = labels.data<std::uint8_t>();
    for (std::size_t i = 0; i < count; ++i) {
      const std::int16_t label = table[from[i]];
      if (label == unknown) {
        std::memset(to, 0, count);
        refuse_value(*this, from, count, from[i]);
      }
      to[i] = static_cast<std::uint8_t>(label);
    }
  });
}

}  // namespace headrace::inline v1
