#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/internal/stage_file.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/pack/detail/image_pack_state.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace headrace::inline v1 {
namespace {

using detail::PackEntry;
using detail::PackFormat;
using detail::PackHeader;
using detail::PackState;

void require(bool holds, const std::string& rule) {
  if (!holds) throw DataError(rule);
}

constexpr std::uint64_t names_at_once = std::uint64_t{1} << 20;

/// A sparse file of a few kilobytes may claim gigabytes of names, which would all be zeros.
void refuse_holes(std::string_view names) {
  for (; names.size() >= PackFormat::page; names.remove_prefix(PackFormat::page)) {
    const std::string_view page = names.substr(0, PackFormat::page);
    require(page.find_first_not_of('\0') != std::string_view::npos,
            "names must not have a hole of 4096 zeros");
  }
}

}  // namespace

void ImagePack::State::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  const std::int64_t got =
      detail::pread_all(file.number(), static_cast<std::byte*>(to), bytes, offset);
  if (got < 0) call_failed("cannot be read: ");
  if (static_cast<std::size_t>(got) != bytes) {
    throw DataError("must hold " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                    ", ends after " + std::to_string(got));
  }
}

/// What errno says of a call that failed. Lack of memory or descriptors is no fault of the file's.
void ImagePack::State::call_failed(const char* what) const {
  const int error = errno;
  const std::string text = what + std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    throw ResourceError("[image pack] " + detail::printable(path) + ": " + text +
                        "; raise the limits of the process");
  }
  throw DataError(text);
}

detail::FileDescriptor ImagePack::State::open_file(const std::filesystem::path& name,
                                                   const ImagePackOptions& options) {
  detail::FileDescriptor original(name.c_str());
  if (options.stage.empty() || original.number() < 0) return original;  // open() goes by errno
  struct stat status {};
  const bool regular = ::fstat(original.number(), &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) return original;  // open() says so
  return detail::stage_file(original.number(), name,
                            {options.stage, options.log, options.on_stage});
}

void ImagePack::State::open() {
  if (file.number() < 0) call_failed("cannot be opened: ");
  struct stat status {};
  require(::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode),
          "must be a regular file");
  std::array<std::byte, PackFormat::page> page;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  require(file_bytes >= page.size(),
          "must hold at least the header's 4096 bytes, got " + std::to_string(file_bytes));
  read_at(0, page.data(), page.size());
  header = PackHeader::decode(page);
  check_sections(file_bytes);
  read_index();
  read_names();
}

void ImagePack::State::check_sections(std::uint64_t file_bytes) const {
  require(header.file_bytes != 0, "pack must be finished; run the same pack command again");
  require(header.file_bytes == file_bytes, "must be " + std::to_string(header.file_bytes) +
                                               " bytes as when it was written, got " +
                                               std::to_string(file_bytes));
  const auto aligned = [](std::uint64_t offset) { return offset % PackFormat::page == 0; };
  const std::uint64_t most = file_bytes / PackFormat::entry_bytes;
  require(header.records >= 1 && header.records <= most &&
              header.index_bytes == header.records * PackFormat::entry_bytes,
          "index must be as long as its records need");
  require(aligned(header.names_offset) && aligned(header.data_offset) &&
              header.names_offset >= PackFormat::page &&
              header.names_offset - PackFormat::page >= header.index_bytes &&
              header.names_offset <= file_bytes &&
              header.names_bytes <= file_bytes - header.names_offset &&
              header.data_offset >= header.names_offset + header.names_bytes &&
              header.data_offset <= file_bytes,
          "sections must follow one another inside the file");
  const std::uint32_t step = header.alignment;
  require(step >= 8 && step <= (1U << 20) && (step & (step - 1)) == 0,
          "alignment must be a power of two from 8 to 2^20, got " + std::to_string(step));
  require(header.classes <= header.names_bytes / 4 && header.groups <= header.names_bytes / 4 &&
              header.label_sets <= header.names_bytes / 4,
          "names must not be fewer than the header says");
}

void ImagePack::State::read_names() {
  constexpr std::uint64_t longest = 4096;
  const std::uint64_t count = header.records + header.classes + header.groups + header.label_sets;
  require(header.names_bytes / (longest + 4) <= count, "a name must have at most 4096 bytes");
  std::string bytes;
  for (std::uint64_t at = 0; at < header.names_bytes; at += names_at_once) {
    bytes.resize(std::min(at + names_at_once, header.names_bytes));
    read_at(header.names_offset + at, bytes.data() + at, bytes.size() - at);
    refuse_holes(std::string_view(bytes).substr(at));
  }
  require(detail::checksum_of(bytes.data(), bytes.size()) == header.names_checksum,
          "checksum of the names is another: the file is damaged");
  detail::PackNames names = detail::PackNames::decode(bytes, header);
  values.classes = std::move(names.classes);
  values.group_names = std::move(names.groups);
  set_label_sets(names.label_sets);
  paths = std::move(names.paths);
  const Place& last = places.back();
  require(last.name_first + last.name_bytes <= paths.size(), "names must not end early");
}

void ImagePack::State::set_label_sets(const std::vector<std::string>& sets) {
  require(sets.empty() || header.has_labels, "label sets must be those of labels");
  for (const std::string& set : sets) {
    const std::size_t count = set.size() / sizeof(std::int32_t);
    const std::size_t first = values.set_classes.size();
    values.set_classes.resize(first + count);
    if (count > 0) std::memcpy(values.set_classes.data() + first, set.data(), set.size());
    require(count * sizeof(std::int32_t) == set.size() &&
                std::all_of(values.set_classes.begin() + static_cast<std::ptrdiff_t>(first),
                            values.set_classes.end(),
                            [this](std::int32_t label) {
                              return label >= 0 &&
                                     static_cast<std::uint32_t>(label) < header.classes;
                            }),
            "label set must hold classes");
    values.set_end.push_back(values.set_classes.size());
  }
}

void ImagePack::State::read_index() {
  constexpr std::size_t at_once = 4096;
  std::vector<std::byte> block(at_once * PackFormat::entry_bytes);
  std::uint32_t checksum = 0;
  std::uint64_t name_first = 0;
  std::uint64_t data_first = header.data_offset;
  for (std::uint64_t first = 0; first < header.records; first += at_once) {
    const std::uint64_t count = std::min<std::uint64_t>(at_once, header.records - first);
    const std::size_t bytes = count * PackFormat::entry_bytes;
    read_at(PackFormat::page + first * PackFormat::entry_bytes, block.data(), bytes);
    checksum = detail::checksum_of(block.data(), bytes, checksum);
    for (std::uint64_t i = 0; i < count; ++i) {
      try {
        add(PackEntry::decode(block.data() + i * PackFormat::entry_bytes), name_first, data_first);
      } catch (const DataError& error) {
        throw DataError("entry " + std::to_string(first + i) + ": " + error.what());
      }
    }
  }
  require(checksum == header.index_checksum,
          "checksum of the index is another: the file is damaged");
  require(!places.empty(), "pack must hold at least one record that is not bad");
  places.shrink_to_fit();
}

void ImagePack::State::check(const PackEntry& entry, std::uint64_t name_first,
                             std::uint64_t data_first) const {
  require(entry.state != PackState::missing, "record must have been written");
  require(entry.name_end >= name_first && entry.name_end <= header.names_bytes &&
              entry.name_end - name_first <= 4096,
          "name must lie inside the names");
  if (entry.state == PackState::skipped) return;
  const bool sized = entry.image_bytes > 0 && entry.image_bytes < PackFormat::most_record_bytes &&
                     entry.mask_bytes < PackFormat::most_record_bytes &&
                     (entry.mask_bytes > 0) == header.has_masks;
  require(sized, "files must have 1 to 2^31 - 1 bytes");
  require(entry.offset % header.alignment == 0 && entry.offset >= data_first &&
              entry.offset <= header.file_bytes &&
              entry.image_bytes + entry.mask_bytes <= header.file_bytes - entry.offset,
          "record must lie behind the one before it, inside the file, and be aligned");
  check_image_size("unknown format", entry.width, entry.height);
  const std::int64_t labels = header.label_sets > 0 ? header.label_sets : header.classes;
  require(header.has_labels ? entry.label >= 0 && entry.label < labels : entry.label == -1,
          "label must be that of a class");
  require(header.has_groups ? entry.group >= 0 && entry.group < std::int64_t{header.groups}
                            : entry.group == -1,
          "group must be a known one");
  require(header.has_splits ? entry.split >= 1 && entry.split <= 3 : entry.split == 0,
          "split must be a known one");
  require(detail::is_weight(entry.weight), "weight must be a number from 0 on");
}

void ImagePack::State::add(const PackEntry& entry, std::uint64_t& name_first,
                           std::uint64_t& data_first) {
  check(entry, name_first, data_first);
  const std::uint64_t name_begin = std::exchange(name_first, entry.name_end);
  if (entry.state == PackState::skipped) {
    ++skipped;
    return;
  }
  data_first = entry.offset + entry.image_bytes + entry.mask_bytes;
  places.push_back(
      {entry.offset, name_begin, static_cast<std::uint32_t>(entry.name_end - name_begin),
       static_cast<std::uint32_t>(entry.image_bytes), static_cast<std::uint32_t>(entry.mask_bytes),
       entry.image_checksum, entry.mask_checksum, entry.width, entry.height,
       static_cast<ImagePack::Content>(entry.content)});
  add_values(entry);
  largest_image = std::max(largest_image, entry.image_bytes);
  largest_mask = std::max(largest_mask, entry.mask_bytes);
  largest_working = std::max(largest_working, working_bytes(places.back()));
}

void ImagePack::State::add_values(const PackEntry& entry) {
  if (header.has_labels) values.labels.push_back(static_cast<std::int32_t>(entry.label));
  if (header.has_weights) values.weights.push_back(static_cast<float>(entry.weight));
  if (header.has_groups) values.groups.push_back(static_cast<std::int32_t>(entry.group));
  if (header.has_splits) values.splits.push_back(static_cast<DataSplit>(entry.split - 1));
}

}  // namespace headrace::inline v1
