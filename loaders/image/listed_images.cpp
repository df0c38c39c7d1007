#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/loaders/image/listed_images.h>

#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t decoded_bytes_per_file_byte = 10;

}  // namespace

ListedImages::ListedImages(std::string name, std::shared_ptr<const detail::ImageListing> listing)
    : name_(std::move(name)), listing_(std::move(listing)) {}

const detail::RecordValues& ListedImages::values() const noexcept {
  return listing_->values;
}

bool ListedImages::has_masks() const noexcept {
  return listing_->masks.size() != 0;
}

std::string_view ListedImages::path(std::int64_t index) const noexcept {
  return listing_->images.path(static_cast<std::size_t>(index));
}

RecordFile ListedImages::file(std::int64_t index) const noexcept {
  return listing_->images.file(index);
}

RecordFile ListedImages::mask_file(std::int64_t index) const noexcept {
  return has_masks() ? listing_->masks.file(index) : RecordFile{};
}

std::uint64_t ListedImages::image_bytes(std::int64_t index) const noexcept {
  return listing_->images.bytes[static_cast<std::size_t>(index)];
}

std::uint64_t ListedImages::mask_bytes(std::int64_t index) const noexcept {
  return has_masks() ? listing_->masks.bytes[static_cast<std::size_t>(index)] : 0;
}

std::string ListedImages::name() const {
  return name_;
}

std::int64_t ListedImages::size() const {
  return static_cast<std::int64_t>(listing_->images.size());
}

Schema ListedImages::fields() const {
  Schema schema{FieldSpec::ragged("image", DType::uint8,
                                  static_cast<std::int64_t>(listing_->images.largest))};
  if (has_masks()) {
    schema.put(FieldSpec::ragged("mask", DType::uint8,
                                 static_cast<std::int64_t>(listing_->masks.largest)));
  }
  values().add_fields(schema);
  return schema;
}

void ListedImages::read(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const detail::ImageListing& listing = *listing_;
  detail::read_listed_file(listing.images.root, listing.images.path(i), listing.images.bytes[i],
                           "image", sample);
  if (has_masks()) {
    detail::read_listed_file(listing.masks.root, listing.masks.path(i), listing.masks.bytes[i],
                             "mask", sample);
  }
  values().fill(i, sample);
}

bool ListedImages::read_now(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const auto now = [&](const detail::FileTable& files, std::string_view field) {
    return detail::read_listed_file_now(files.root, files.path(i), files.bytes[i], field, sample);
  };
  if (!now(listing_->images, "image")) return false;
  if (has_masks() && !now(listing_->masks, "mask")) return false;
  values().fill(i, sample);
  return true;
}

std::size_t ListedImages::working_bytes(std::int64_t index) const {
  return (image_bytes(index) + mask_bytes(index)) * (1 + decoded_bytes_per_file_byte);
}

std::size_t ListedImages::largest_working_bytes() const {
  return (listing_->images.largest + listing_->masks.largest) * (1 + decoded_bytes_per_file_byte);
}

std::size_t ListedImages::resident_bytes() const {
  return listing_->images.memory() + listing_->masks.memory() + values().memory();
}

std::string ListedImages::origin(std::int64_t index) const {
  return printable_name(path(index));
}

}  // namespace headrace::inline v1
