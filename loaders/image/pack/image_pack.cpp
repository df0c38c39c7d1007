#include <headrace/loaders/image/pack/image_pack.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <headrace/engine/error.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/detail/read_file.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>

namespace headrace::inline v1 {
namespace {

using detail::PackEntry;
using detail::PackFormat;
using detail::PackHeader;
using detail::PackState;

void require(bool holds, const std::string& rule) {
  if (!holds) throw DataError(rule);
}

/// What stays in memory of an entry.
struct Place {
  std::uint64_t offset;
  std::uint64_t name_first;
  std::uint32_t name_bytes;
  std::uint32_t image_bytes;
  std::uint32_t mask_bytes;
  std::uint32_t image_checksum;
  std::uint32_t mask_checksum;
  std::uint32_t width;
  std::uint32_t height;
  std::int32_t label;
  ImagePack::Content content;
};

/// One file of a record.
struct File {
  const char* field;
  std::uint64_t offset;
  std::uint32_t bytes;
  std::uint32_t checksum;
};

File image_of(const Place& place) {
  return {"image", place.offset, place.image_bytes, place.image_checksum};
}

File mask_of(const Place& place) {
  return {"mask", place.offset + place.image_bytes, place.mask_bytes, place.mask_checksum};
}

}  // namespace

struct ImagePack::State {
  State(const std::filesystem::path& name, const ImagePackOptions& wanted)
      : path(name.native()), options(wanted), file(name.c_str()) {}

  std::string path;
  ImagePackOptions options;
  detail::FileDescriptor file;
  PackHeader header;
  std::vector<std::string> classes;
  std::vector<std::string> groups;
  std::string paths;
  std::vector<Place> places;
  std::vector<float> weights;
  std::vector<std::int32_t> group_of;
  std::uint64_t largest_image = 0;
  std::uint64_t largest_mask = 0;
  std::size_t largest_working = 0;
  std::int64_t skipped = 0;

  void open();
  void check_sections(std::uint64_t file_bytes) const;
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;
  void read_names();
  void read_index();
  void add(const PackEntry& entry, std::uint64_t& name_first, std::uint64_t& data_first);
  void check(const PackEntry& entry, std::uint64_t name_first, std::uint64_t data_first) const;
  static Tensor& make(const File& file, Sample& sample);
  bool is_right(const File& wanted, const Tensor& tensor) const;
  void read_file(const File& wanted, Sample& sample) const;
  bool read_file_now(const File& wanted, Sample& sample) const;
  void set_values(std::size_t i, Sample& sample) const;
  std::size_t working_bytes(const Place& place) const noexcept {
    return place.image_bytes + std::size_t{place.mask_bytes} +
           std::size_t{place.width} * place.height * 4;
  }
};

void ImagePack::State::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  const std::int64_t got =
      detail::pread_all(file.number(), static_cast<std::byte*>(to), bytes, offset);
  if (got < 0) throw DataError("cannot be read: " + detail::error_text());
  if (static_cast<std::size_t>(got) != bytes) {
    throw DataError("must hold " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                    ", ends after " + std::to_string(got));
  }
}

void ImagePack::State::open() {
  require(file.number() >= 0, "cannot be opened: " + detail::error_text());
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
  require(header.classes <= header.names_bytes / 4 && header.groups <= header.names_bytes / 4,
          "names must not be fewer than the header says");
}

void ImagePack::State::read_names() {
  constexpr std::uint64_t longest = 4096;
  const std::uint64_t count = header.records + header.classes + header.groups;
  require(header.names_bytes / (longest + 4) <= count, "a name must have at most 4096 bytes");
  std::string bytes(header.names_bytes, '\0');
  read_at(header.names_offset, bytes.data(), bytes.size());
  require(detail::checksum_of(bytes.data(), bytes.size()) == header.names_checksum,
          "checksum of the names is another: the file is damaged");
  detail::PackNames names = detail::PackNames::decode(bytes, header.classes, header.groups);
  classes = std::move(names.classes);
  groups = std::move(names.groups);
  paths = std::move(names.paths);
  const Place& last = places.back();
  require(last.name_first + last.name_bytes <= paths.size(), "names must not end early");
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
  check_image_size(ImageFormat::unknown, entry.width, entry.height);
  require(header.has_labels ? entry.label >= 0 && entry.label < std::int64_t{header.classes}
                            : entry.label == -1,
          "label must be that of a class");
  require(header.has_groups ? entry.group >= 0 && entry.group < std::int64_t{header.groups}
                            : entry.group == -1,
          "group must be a known one");
  require(std::isfinite(entry.weight) && entry.weight >= 0.0, "weight must not be negative");
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
       static_cast<std::int32_t>(entry.label), static_cast<ImagePack::Content>(entry.content)});
  if (header.has_weights) weights.push_back(static_cast<float>(entry.weight));
  if (header.has_groups) group_of.push_back(static_cast<std::int32_t>(entry.group));
  largest_image = std::max(largest_image, entry.image_bytes);
  largest_mask = std::max(largest_mask, entry.mask_bytes);
  largest_working = std::max(largest_working, working_bytes(places.back()));
}

Tensor& ImagePack::State::make(const File& file, Sample& sample) {
  return sample.make(file.field, DType::uint8, Shape{std::int64_t{file.bytes}});
}

bool ImagePack::State::is_right(const File& wanted, const Tensor& tensor) const {
  return !options.verify || detail::checksum_of(tensor.raw(), wanted.bytes) == wanted.checksum;
}

void ImagePack::State::read_file(const File& wanted, Sample& sample) const {
  const Tensor& tensor = make(wanted, sample);
  read_at(wanted.offset, tensor.raw(), wanted.bytes);
  if (is_right(wanted, tensor)) return;
  throw DataError(std::string(wanted.field) + " of " + std::to_string(wanted.bytes) + " bytes at " +
                  std::to_string(wanted.offset) +
                  ": its checksum is another: the file is damaged; copy it again");
}

bool ImagePack::State::read_file_now(const File& wanted, Sample& sample) const {
  const Tensor& tensor = make(wanted, sample);
  return detail::read_cached(file.number(), static_cast<std::byte*>(tensor.raw()), wanted.bytes,
                             wanted.offset) &&
         is_right(wanted, tensor);
}

void ImagePack::State::set_values(std::size_t i, Sample& sample) const {
  if (header.has_labels) sample.set_scalar<std::int64_t>("label", places[i].label);
  if (header.has_weights) sample.set_scalar<float>("weight", weights[i]);
}

ImagePack::ImagePack(const std::filesystem::path& file, const ImagePackOptions& options) {
  auto state = std::make_unique<State>(file, options);
  try {
    state->open();
  } catch (const DataError& error) {
    throw DataError("[image pack] " + detail::printable(state->path) + ": " + error.what());
  }
  state_ = std::move(state);
}

ImagePack::~ImagePack() = default;

ImagePack::Record ImagePack::record(std::int64_t index) const noexcept {
  const Place& place = state_->places[static_cast<std::size_t>(index)];
  return {std::string_view(state_->paths).substr(place.name_first, place.name_bytes), place.content,
          static_cast<int>(place.width), static_cast<int>(place.height)};
}

const std::vector<std::string>& ImagePack::classes() const noexcept {
  return state_->classes;
}

std::int64_t ImagePack::label(std::int64_t index) const noexcept {
  return state_->places[static_cast<std::size_t>(index)].label;
}

std::vector<std::int64_t> ImagePack::labels() const {
  std::vector<std::int64_t> all;
  if (!state_->header.has_labels) return all;
  for (const Place& place : state_->places)
    all.push_back(place.label);
  return all;
}

std::vector<double> ImagePack::weights() const {
  return {state_->weights.begin(), state_->weights.end()};
}

std::vector<std::int64_t> ImagePack::groups() const {
  return {state_->group_of.begin(), state_->group_of.end()};
}

const std::vector<std::string>& ImagePack::group_names() const noexcept {
  return state_->groups;
}

bool ImagePack::has_masks() const noexcept {
  return state_->header.has_masks;
}

std::uint64_t ImagePack::image_bytes(std::int64_t index) const noexcept {
  return state_->places[static_cast<std::size_t>(index)].image_bytes;
}

std::uint64_t ImagePack::mask_bytes(std::int64_t index) const noexcept {
  return state_->places[static_cast<std::size_t>(index)].mask_bytes;
}

std::int64_t ImagePack::skipped() const noexcept {
  return state_->skipped;
}

std::string ImagePack::name() const {
  return "image pack " + detail::printable(state_->path);
}

std::int64_t ImagePack::size() const {
  return static_cast<std::int64_t>(state_->places.size());
}

Schema ImagePack::fields() const {
  const auto ragged = [](const char* name, std::uint64_t bytes) {
    return FieldSpec::ragged(name, DType::uint8, static_cast<std::int64_t>(bytes));
  };
  Schema schema{ragged("image", state_->largest_image)};
  if (has_masks()) schema.put(ragged("mask", state_->largest_mask));
  if (state_->header.has_labels) schema.put(FieldSpec::fixed("label", DType::int64, Shape{}));
  if (state_->header.has_weights) schema.put(FieldSpec::fixed("weight", DType::float32, Shape{}));
  return schema;
}

void ImagePack::read(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const Place& place = state_->places[i];
  state_->read_file(image_of(place), sample);
  if (place.mask_bytes != 0) state_->read_file(mask_of(place), sample);
  state_->set_values(i, sample);
}

bool ImagePack::read_now(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const Place& place = state_->places[i];
  if (!state_->read_file_now(image_of(place), sample)) return false;
  if (place.mask_bytes != 0 && !state_->read_file_now(mask_of(place), sample)) return false;
  state_->set_values(i, sample);
  return true;
}

std::size_t ImagePack::working_bytes(std::int64_t index) const {
  return state_->working_bytes(state_->places[static_cast<std::size_t>(index)]);
}

std::size_t ImagePack::largest_working_bytes() const {
  return state_->largest_working;
}

std::size_t ImagePack::resident_bytes() const {
  return state_->paths.capacity() + state_->places.capacity() * sizeof(Place) +
         state_->weights.capacity() * sizeof(float) +
         state_->group_of.capacity() * sizeof(std::int32_t);
}

std::string ImagePack::origin(std::int64_t index) const {
  return detail::printable(record(index).name);
}

}  // namespace headrace::inline v1
