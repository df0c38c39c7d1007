#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/volume/detail/foreground/foreground_table.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>
#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/loaders/volume/nifti_volume.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace headrace::inline v1 {

using detail::ForegroundKey;
using detail::ForegroundTable;

namespace {

constexpr std::uint64_t most_kept = std::uint64_t{1} << 30;  // bytes

void check(const ForegroundOptions& options) {
  if (options.threads < 1 || options.threads > 1024)
    throw ConfigError("[foreground] threads must be 1 to 1024, got " +
                      std::to_string(options.threads));
}

/// Of the file, its partner, and what beside them decides the table.
ForegroundKey key_of(const CachedVolume& labels, const std::filesystem::path& file,
                     const ForegroundOptions& options) {
  // A folder that moves takes its indexes along.
  std::string_view name = labels.volume().name();
  const std::string folder = file.parent_path().native();
  if (name.starts_with(folder)) name.remove_prefix(folder.size());
  std::string text(name);
  const auto add = [&text](const auto& number) {
    text.append(1, ',').append(std::to_string(number));
  };
  add(static_cast<int>(labels.info().dtype));
  add(labels.info().scale);
  add(labels.info().offset);
  text += options.ignore ? "ignore" : "all";
  add(options.ignore.value_or(0));
  std::vector<std::int64_t> wanted = options.labels;
  std::sort(wanted.begin(), wanted.end());
  for (const std::int64_t label : wanted)
    add(label);
  const std::array files{file, nifti_partner(file)};
  const std::size_t count = files[1].empty() ? 1 : 2;
  add(detail::mark_of_files(count, [&files](std::size_t i) { return files[i]; }));
  const detail::FileStamp stamp = detail::file_stamp(file);
  return {stamp.bytes, stamp.modified_ns, hash_name(text)};
}

/// The number `which` of the voxels that have a value; -1 where there are fewer.
std::int64_t find_voxel(const VolumeInfo& info, const std::vector<std::byte>& voxels,
                        std::int64_t label, std::uint64_t which) {
  return detail::visit_dtype(info.dtype, [&](auto element) -> std::int64_t {
    const std::size_t count = voxels.size() / sizeof element;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<void*>(&element), voxels.data() + i * sizeof element, sizeof element);
      const double value = detail::number_of(element) * info.scale + info.offset;
      if (value == static_cast<double>(label) && which-- == 0) return static_cast<std::int64_t>(i);
    }
    return -1;
  });
}

/// A voxel of a label by its number among all of them.
struct DrawnVoxel {
  std::int64_t cell = 0;
  std::uint64_t which = 0;  ///< in the cell
};

DrawnVoxel draw(const ForegroundTable& table, std::int64_t label, Random& random) {
  const ForegroundTable::Class* const there = table.find(label);
  if (there == nullptr)
    throw DataError("[foreground] label " + std::to_string(label) +
                    " must have voxels to be picked, got none; ask classes() first");
  const auto number =
      static_cast<std::uint64_t>(random.below(static_cast<std::int64_t>(there->ends.back())));
  const auto end = std::upper_bound(there->ends.begin(), there->ends.end(), number);
  const auto i = static_cast<std::size_t>(end - there->ends.begin());
  return {there->cells[i], number - (i == 0 ? 0 : there->ends[i - 1])};
}

}  // namespace

ForegroundIndex::ForegroundIndex(std::unique_ptr<const ForegroundTable> table, bool kept) noexcept
    : table_(std::move(table)), kept_(kept) {}

ForegroundIndex::ForegroundIndex(const CachedVolume& labels, const ForegroundOptions& options) {
  check(options);
  table_ = std::make_unique<const ForegroundTable>(detail::scan_foreground(labels, options));
}

ForegroundIndex::~ForegroundIndex() = default;
ForegroundIndex::ForegroundIndex(ForegroundIndex&&) noexcept = default;
ForegroundIndex& ForegroundIndex::operator=(ForegroundIndex&&) noexcept = default;

std::filesystem::path ForegroundIndex::kept_file(const std::filesystem::path& file) {
  return file.native() + ".headrace-foreground";
}

ForegroundIndex ForegroundIndex::of_file(const CachedVolume& labels,
                                         const std::filesystem::path& file,
                                         const ForegroundOptions& options) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return ForegroundIndex(labels, options);
  const ForegroundKey key = key_of(labels, file, options);
  const std::filesystem::path kept = kept_file(file);
  try {
    auto table = std::make_unique<ForegroundTable>(
        ForegroundTable{detail::CellGrid::of(labels.info()), {}, {}});
    if (detail::decode_foreground(read_whole_file(kept, "foreground", most_kept), key, *table))
      return {std::move(table), true};
  } catch (const ResourceError&) {
    // There is none that can be read.
  }
  ForegroundIndex made(labels, options);
  try {
    if (key_of(labels, file, options) == key)
      write_file_atomically(kept, detail::encode_foreground(*made.table_, key),
                            {.who = "foreground"});
  } catch (const ResourceError&) {
    // The folder cannot be written: it is made anew each time.
  }
  return made;
}

std::vector<std::int64_t> ForegroundIndex::classes() const {
  std::vector<std::int64_t> labels;
  for (const ForegroundTable::Class& there : table_->classes)
    labels.push_back(there.label);
  return labels;
}

std::uint64_t ForegroundIndex::count(std::int64_t label) const noexcept {
  const ForegroundTable::Class* const there = table_->find(label);
  return there == nullptr ? 0 : there->ends.back();
}

VolumeBox ForegroundIndex::bounds() const noexcept {
  return table_->bounds;
}

std::size_t ForegroundIndex::resident_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const ForegroundTable::Class& there : table_->classes)
    bytes += there.cells.capacity() * sizeof(std::uint32_t) +
             there.ends.capacity() * sizeof(std::uint64_t) + sizeof there;
  return bytes;
}

std::int64_t ForegroundIndex::pick(std::int64_t label, Random& random) const {
  return draw(*table_, label, random).cell;
}

VolumeBox ForegroundIndex::cell_box(std::int64_t cell) const noexcept {
  return table_->box(cell);
}

VolumeIndex ForegroundIndex::pick_voxel(const CachedVolume& labels, std::int64_t label,
                                        Random& random) const {
  const DrawnVoxel drawn = draw(*table_, label, random);
  const VolumeBox box = table_->box(drawn.cell);
  const std::int64_t at =
      find_voxel(labels.info(), detail::box_voxels(labels, box), label, drawn.which);
  if (at < 0) {
    throw DataError("[foreground] " + labels.volume().name() + ": label " + std::to_string(label) +
                    " must have as many voxels as when its index was made, got fewer; remove the "
                    "file .headrace-foreground beside it");
  }
  return detail::voxel_at(box, at);
}

}  // namespace headrace::inline v1
