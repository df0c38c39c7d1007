#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/listed_images.h>

#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t decoded_bytes_per_file_byte = 10;

}  // namespace

ListedImages::ListedImages(std::string name, std::shared_ptr<const detail::ImageListing> listing)
    : name_(std::move(name)), listing_(std::move(listing)) {}

const std::vector<std::string>& ListedImages::classes() const noexcept {
  return listing_->classes;
}

std::int64_t ListedImages::label(std::int64_t index) const noexcept {
  return listing_->labels.empty() ? -1 : listing_->labels[static_cast<std::size_t>(index)];
}

std::vector<std::int64_t> ListedImages::labels() const {
  return {listing_->labels.begin(), listing_->labels.end()};
}

std::vector<double> ListedImages::weights() const {
  return {listing_->weights.begin(), listing_->weights.end()};
}

std::vector<std::int64_t> ListedImages::groups() const {
  return {listing_->groups.begin(), listing_->groups.end()};
}

const std::vector<std::string>& ListedImages::group_names() const noexcept {
  return listing_->group_names;
}

bool ListedImages::has_masks() const noexcept {
  return listing_->masks.size() != 0;
}

std::string_view ListedImages::path(std::int64_t index) const noexcept {
  return listing_->images.path(static_cast<std::size_t>(index));
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
  if (!listing_->labels.empty()) schema.put(FieldSpec::fixed("label", DType::int64, Shape{}));
  if (!listing_->weights.empty()) schema.put(FieldSpec::fixed("weight", DType::float32, Shape{}));
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
  set_values(i, sample);
}

bool ListedImages::read_now(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const auto now = [&](const detail::FileTable& files, std::string_view field) {
    return detail::read_listed_file_now(files.root, files.path(i), files.bytes[i], field, sample);
  };
  if (!now(listing_->images, "image")) return false;
  if (has_masks() && !now(listing_->masks, "mask")) return false;
  set_values(i, sample);
  return true;
}

void ListedImages::set_values(std::size_t i, Sample& sample) const {
  const detail::ImageListing& listing = *listing_;
  if (!listing.labels.empty()) sample.set_scalar<std::int64_t>("label", listing.labels[i]);
  if (!listing.weights.empty()) sample.set_scalar<float>("weight", listing.weights[i]);
}

std::size_t ListedImages::working_bytes(std::int64_t index) const {
  return (image_bytes(index) + mask_bytes(index)) * (1 + decoded_bytes_per_file_byte);
}

std::size_t ListedImages::largest_working_bytes() const {
  return (listing_->images.largest + listing_->masks.largest) * (1 + decoded_bytes_per_file_byte);
}

std::size_t ListedImages::resident_bytes() const {
  return listing_->memory();
}

std::string ListedImages::origin(std::int64_t index) const {
  return detail::printable(path(index));
}

}  // namespace headrace::inline v1
