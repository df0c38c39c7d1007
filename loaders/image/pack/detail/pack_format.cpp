#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/internal/byte_order.h>

#include <cstring>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

constexpr std::string_view magic = "hrpack1\n";
constexpr std::size_t checksum_at = PackFormat::page - 4;

template <class T>
T get_text_number(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw DataError("names must not end early");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

void put_names(std::string& out, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto length = static_cast<std::uint32_t>(name.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += name;
  }
}

std::vector<std::string> get_names(std::string_view& bytes, std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto length = get_text_number<std::uint32_t>(bytes);
    if (length > bytes.size()) throw DataError("names must not end early");
    names.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return names;
}

}  // namespace

std::array<std::byte, PackFormat::page> PackHeader::encode() const {
  std::array<std::byte, PackFormat::page> page{};
  std::memcpy(page.data(), magic.data(), magic.size());
  put(page.data(), 8, PackFormat::version);
  put(page.data(), 12, alignment);
  put(page.data(), 16, records);
  put(page.data(), 24, index_bytes);
  put(page.data(), 32, names_offset);
  put(page.data(), 40, names_bytes);
  put(page.data(), 48, data_offset);
  put(page.data(), 56, file_bytes);
  put(page.data(), 64, fingerprint);
  put(page.data(), 72, classes);
  put(page.data(), 76, groups);
  put(page.data(), 80, index_checksum);
  put(page.data(), 84, names_checksum);
  const auto flags = static_cast<std::uint32_t>((has_labels ? 1 : 0) | (has_weights ? 2 : 0) |
                                                (has_groups ? 4 : 0) | (has_masks ? 8 : 0) |
                                                (has_splits ? 16 : 0));
  put(page.data(), 88, flags);
  put(page.data(), 92, label_sets);
  put(page.data(), checksum_at, checksum_of(page.data(), checksum_at));
  return page;
}

PackHeader PackHeader::decode(std::span<const std::byte> page) {
  const std::byte* from = page.data();
  if (page.size() < PackFormat::page || std::memcmp(from, magic.data(), magic.size()) != 0)
    throw DataError("file must begin as a pack, got something else");
  const auto version = get<std::uint32_t>(from, 8);
  if (version < PackFormat::oldest_version || version > PackFormat::version) {
    throw DataError("pack must be of version 1 or 2, got " + std::to_string(version) +
                    "; read it with the headrace that wrote it, or pack again");
  }
  if (get<std::uint32_t>(from, checksum_at) != checksum_of(from, checksum_at))
    throw DataError("header's checksum is another: the file is damaged");
  const auto flags = get<std::uint32_t>(from, 88);
  return {.records = get<std::uint64_t>(from, 16),
          .index_bytes = get<std::uint64_t>(from, 24),
          .names_offset = get<std::uint64_t>(from, 32),
          .names_bytes = get<std::uint64_t>(from, 40),
          .data_offset = get<std::uint64_t>(from, 48),
          .file_bytes = get<std::uint64_t>(from, 56),
          .fingerprint = get<std::uint64_t>(from, 64),
          .alignment = get<std::uint32_t>(from, 12),
          .classes = get<std::uint32_t>(from, 72),
          .groups = get<std::uint32_t>(from, 76),
          .label_sets = get<std::uint32_t>(from, 92),
          .index_checksum = get<std::uint32_t>(from, 80),
          .names_checksum = get<std::uint32_t>(from, 84),
          .has_labels = (flags & 1) != 0,
          .has_weights = (flags & 2) != 0,
          .has_groups = (flags & 4) != 0,
          .has_masks = (flags & 8) != 0,
          .has_splits = (flags & 16) != 0};
}

void PackEntry::encode(std::byte* to) const {
  put(to, 0, offset);
  put(to, 8, image_bytes);
  put(to, 16, mask_bytes);
  put(to, 24, image_checksum);
  put(to, 28, mask_checksum);
  put(to, 32, label);
  put(to, 40, group);
  put(to, 48, weight);
  put(to, 56, name_end);
  put(to, 64, width);
  put(to, 68, height);
  put(to, 72, static_cast<std::uint8_t>(state));
  put(to, 73, static_cast<std::uint8_t>(content));
  put(to, 74, split);
  put(to, 75, std::uint8_t{0});
  put(to, 76, checksum_of(to, 76));
}

PackEntry PackEntry::decode(const std::byte* from) {
  if (get<std::uint32_t>(from, 76) != checksum_of(from, 76))
    throw DataError("its checksum is another: the file is damaged");
  const auto state = get<std::uint8_t>(from, 72);
  const auto content = get<std::uint8_t>(from, 73);
  if (state > static_cast<std::uint8_t>(PackState::skipped) ||
      content > static_cast<std::uint8_t>(PackContent::crop_indexed))
    throw DataError("its kind must be a known one");
  return {.offset = get<std::uint64_t>(from, 0),
          .image_bytes = get<std::uint64_t>(from, 8),
          .mask_bytes = get<std::uint64_t>(from, 16),
          .image_checksum = get<std::uint32_t>(from, 24),
          .mask_checksum = get<std::uint32_t>(from, 28),
          .label = get<std::int64_t>(from, 32),
          .group = get<std::int64_t>(from, 40),
          .weight = get<double>(from, 48),
          .name_end = get<std::uint64_t>(from, 56),
          .width = get<std::uint32_t>(from, 64),
          .height = get<std::uint32_t>(from, 68),
          .state = static_cast<PackState>(state),
          .content = static_cast<PackContent>(content),
          .split = get<std::uint8_t>(from, 74)};
}

std::string PackNames::encode() const {
  std::string out;
  put_names(out, classes);
  put_names(out, groups);
  put_names(out, label_sets);
  out += paths;
  return out;
}

PackNames PackNames::decode(std::string_view bytes, const PackHeader& header) {
  PackNames names;
  names.classes = get_names(bytes, header.classes);
  names.groups = get_names(bytes, header.groups);
  names.label_sets = get_names(bytes, header.label_sets);
  names.paths = bytes;
  return names;
}

}  // namespace headrace::inline v1::detail
