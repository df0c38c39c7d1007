#include <headrace/loaders/volume/detail/foreground/foreground_table.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <libdeflate.h>

namespace headrace::inline v1::detail {
namespace {

constexpr char magic[8] = {'h', 'r', 'f', 'g', 'r', '1', '\r', '\n'};
constexpr std::uint32_t table_version = 1;
constexpr std::size_t checked_from = 12;

template <class T>
void put(std::vector<std::byte>& to, const T& value) {
  static_assert(std::endian::native == std::endian::little);
  to.resize(to.size() + sizeof value);
  std::memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

template <class T>
void put_all(std::vector<std::byte>& to, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Takes numbers off the front of bytes; once they do not suffice, nothing holds any more.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  bool take(T& value) {
    if (bytes_.size() < sizeof value) return false;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return true;
  }
  template <class T>
  bool take(std::vector<T>& values, std::uint64_t count) {
    if (count > bytes_.size() / sizeof(T)) return false;
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
    return true;
  }
  bool empty() const noexcept { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

/// Whether cells and ends can be those of the table's volume.
bool is_sound(const ForegroundTable& table, const ForegroundTable::Class& there) {
  const std::int64_t cells = voxels_of(table.grid());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < there.cells.size(); ++i) {
    if (there.cells[i] >= cells || (i > 0 && there.cells[i] <= there.cells[i - 1])) return false;
    const auto most = static_cast<std::uint64_t>(voxels_of(table.box(there.cells[i]).shape()));
    if (there.ends[i] <= before || there.ends[i] - before > most) return false;
    before = there.ends[i];
  }
  return !there.cells.empty();
}

bool is_inside(const VolumeBox& bounds, const VolumeIndex& shape) {
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (bounds.begin[axis] < 0 || bounds.end[axis] > shape[axis]) return false;
  return true;
}

}  // namespace

const ForegroundTable::Class* ForegroundTable::find(std::int64_t label) const noexcept {
  const auto found = std::lower_bound(
      classes.begin(), classes.end(), label,
      [](const Class& there, std::int64_t wanted) { return there.label < wanted; });
  return found != classes.end() && found->label == label ? &*found : nullptr;
}

std::vector<std::byte> encode_foreground(const ForegroundTable& table, const ForegroundKey& key) {
  std::vector<std::byte> bytes;
  put(bytes, magic);
  put(bytes, std::uint32_t{0});
  put(bytes, table_version);
  put(bytes, key.file_bytes);
  put(bytes, key.changed_ns);
  put(bytes, key.request);
  put(bytes, table.shape);
  put(bytes, table.cell);
  put(bytes, table.bounds.begin);
  put(bytes, table.bounds.end);
  put(bytes, std::uint64_t{table.classes.size()});
  for (const ForegroundTable::Class& there : table.classes) {
    put(bytes, there.label);
    put(bytes, std::uint64_t{there.cells.size()});
    put_all(bytes, there.cells);
    put_all(bytes, there.ends);
  }
  const std::uint32_t sum =
      libdeflate_crc32(0, bytes.data() + checked_from, bytes.size() - checked_from);
  std::memcpy(bytes.data() + sizeof magic, &sum, sizeof sum);
  return bytes;
}

bool decode_foreground(std::span<const std::byte> bytes, const ForegroundKey& key,
                       ForegroundTable& table) {
  if (bytes.size() < checked_from || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
    return false;
  std::uint32_t sum = 0;
  std::memcpy(&sum, bytes.data() + sizeof magic, sizeof sum);
  const auto checked = bytes.subspan(checked_from);
  if (libdeflate_crc32(0, checked.data(), checked.size()) != sum) return false;
  Taker from(checked);
  std::uint32_t its_version = 0;
  ForegroundKey its;
  VolumeIndex shape{}, cell{};
  std::uint64_t classes = 0;
  const bool whole = from.take(its_version) && from.take(its.file_bytes) &&
                     from.take(its.changed_ns) && from.take(its.request) && from.take(shape) &&
                     from.take(cell) && from.take(table.bounds.begin) &&
                     from.take(table.bounds.end) && from.take(classes);
  if (!whole || its_version != table_version || its.file_bytes != key.file_bytes ||
      its.changed_ns != key.changed_ns || its.request != key.request || shape != table.shape ||
      cell != table.cell || !is_inside(table.bounds, shape))
    return false;
  for (std::uint64_t i = 0; i < classes; ++i) {
    ForegroundTable::Class there;
    std::uint64_t cells = 0;
    if (!from.take(there.label) || !from.take(cells) || !from.take(there.cells, cells) ||
        !from.take(there.ends, cells) || !is_sound(table, there) ||
        (i > 0 && there.label <= table.classes.back().label))
      return false;
    table.classes.push_back(std::move(there));
  }
  return from.empty();
}

}  // namespace headrace::inline v1::detail
