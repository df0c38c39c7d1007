#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/npy/detail/array_listing.h>
#include <headrace/loaders/npy/listed_arrays.h>

#include <utility>

namespace headrace::inline v1 {
namespace {

std::string described(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)) + " " + to_string(shape);
}

/// A file that is gone is a bad sample as one that is broken.
NpyFile open_array(const std::string& path) {
  try {
    return NpyFile(path);
  } catch (const ConfigError& error) {
    throw DataError(error.what());
  }
}

}  // namespace

ListedArrays::ListedArrays(std::string name, std::string field,
                           std::shared_ptr<const detail::ArrayListing> listing)
    : name_(std::move(name)), field_(std::move(field)), listing_(std::move(listing)) {
  Schema known;
  values().add_fields(known);
  if (field_.empty() || known.find(field_) != nullptr) {
    throw ConfigError("[" + name_ + "] field must be a name that no other field has, got \"" +
                      field_ + "\"");
  }
}

const detail::RecordValues& ListedArrays::values() const noexcept {
  return listing_->values;
}

std::string_view ListedArrays::path(std::int64_t index) const noexcept {
  return listing_->files.path(static_cast<std::size_t>(index));
}

RecordFile ListedArrays::file(std::int64_t index) const noexcept {
  return listing_->files.file(index);
}

std::string ListedArrays::name() const {
  return name_;
}

std::int64_t ListedArrays::size() const {
  return static_cast<std::int64_t>(listing_->files.size());
}

Schema ListedArrays::fields() const {
  Schema schema{listing_->ragged ? FieldSpec::padded(field_, listing_->dtype, listing_->largest)
                                 : FieldSpec::fixed(field_, listing_->dtype, listing_->largest)};
  values().add_fields(schema);
  return schema;
}

void ListedArrays::read(std::int64_t index, Sample& sample) const {
  const auto i = static_cast<std::size_t>(index);
  const NpyFile file = open_array(listing_->files.root + "/" + std::string(path(index)));
  if (listing_->lengths[i] < 0) {
    throw DataError("array " + detail::printable(path(index)) +
                    ": was broken or held no value when it was listed, is now " +
                    described(file.dtype(), file.shape()) +
                    "; repair it or leave it out of the list, and start again");
  }
  const Shape shape = listing_->shape(i);
  if (file.dtype() != listing_->dtype || listing_->shape_of(file.shape()) != shape) {
    throw DataError("array " + detail::printable(path(index)) + ": must be " +
                    described(listing_->dtype, shape) + " as when it was listed, got " +
                    described(file.dtype(), file.shape()));
  }
  file.read_rows(0, shape[0], sample.make(field_, listing_->dtype, shape).raw());
  values().fill(i, sample);
}

std::size_t ListedArrays::working_bytes(std::int64_t index) const {
  return listing_->array_bytes(static_cast<std::size_t>(index));
}

std::size_t ListedArrays::largest_working_bytes() const {
  return static_cast<std::size_t>(listing_->largest.elements()) * size_of(listing_->dtype);
}

std::size_t ListedArrays::resident_bytes() const {
  return listing_->memory();
}

std::string ListedArrays::origin(std::int64_t index) const {
  return printable_name(path(index));
}

}  // namespace headrace::inline v1
