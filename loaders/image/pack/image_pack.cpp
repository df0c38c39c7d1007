#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/pack/detail/image_pack_state.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/image_pack.h>

#include <string_view>
#include <utility>

namespace headrace::inline v1 {

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
  const State::Place& place = state_->places[static_cast<std::size_t>(index)];
  return {std::string_view(state_->paths).substr(place.name_first, place.name_bytes), place.content,
          static_cast<int>(place.width), static_cast<int>(place.height)};
}

const detail::RecordValues& ImagePack::values() const noexcept {
  return state_->values;
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
  values().add_fields(schema);
  return schema;
}

void ImagePack::read(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const State::Place& place = state_->places[i];
  state_->read_file(place.image(), sample);
  if (place.mask_bytes != 0) state_->read_file(place.mask(), sample);
  values().fill(i, sample);
}

bool ImagePack::read_now(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const State::Place& place = state_->places[i];
  if (!state_->read_file_now(place.image(), sample)) return false;
  if (place.mask_bytes != 0 && !state_->read_file_now(place.mask(), sample)) return false;
  values().fill(i, sample);
  return true;
}

std::size_t ImagePack::working_bytes(std::int64_t index) const {
  return state_->working_bytes(state_->places[static_cast<std::size_t>(index)]);
}

std::size_t ImagePack::largest_working_bytes() const {
  return state_->largest_working;
}

std::size_t ImagePack::resident_bytes() const {
  return state_->paths.capacity() + state_->places.capacity() * sizeof(State::Place) +
         values().memory();
}

std::string ImagePack::origin(std::int64_t index) const {
  return printable_name(record(index).name);
}

}  // namespace headrace::inline v1
