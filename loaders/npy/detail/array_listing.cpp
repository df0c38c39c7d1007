#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/npy/detail/array_listing.h>

#include <algorithm>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

// But for the last axis.
bool is_alike(const Shape& a, const Shape& b) {
  return a.rank() > 0 && a.rank() == b.rank() &&
         std::ranges::equal(a.extents().first(a.extents().size() - 1),
                            b.extents().first(b.extents().size() - 1));
}

bool has_one_channel(const Shape& shape) {
  return shape.rank() == 3 && shape[2] == 1;
}

Shape without_last(const Shape& shape) {
  return Shape(shape.extents().first(shape.extents().size() - 1));
}

[[noreturn]] void refuse(const ArrayListing& listing, std::size_t first, std::size_t record,
                         const NpyFile& file) {
  const bool frames = file.dtype() == listing.dtype &&
                      file.shape().rank() == listing.largest.rank() + listing.without_one;
  throw ConfigError("[arrays] " + printable(listing.files.path(record)) +
                    ": must be as the first, " + printable(listing.files.path(first)) + ", " +
                    std::string(name_of(listing.dtype)) + " " + to_string(listing.shape(first)) +
                    " but for the last axis, got " + std::string(name_of(file.dtype())) + " " +
                    to_string(file.shape()) +
                    (frames ? "; frames come last, [bins, frames]: turn arrays that have them "
                              "first, "
                            : "; ") +
                    "convert it, or list it elsewhere");
}

Shape with_last(const Shape& shape, std::int64_t length) {
  Shape changed = shape;
  changed.set(shape.rank() - 1, length);
  return changed;
}

/// What the headers say, one after the other.
class Headers {
 public:
  explicit Headers(ArrayListing& listing) : listing_(listing) {}

  void take(std::size_t record) {
    const std::string path = listing_.files.root + "/" + std::string(listing_.files.path(record));
    try {
      take(record, NpyFile(path));
    } catch (const DataError& error) {
      if (first_reason_.empty()) first_reason_ = error.what();
      listing_.lengths.push_back(-1);
    }
  }
  void finish() const {
    if (!known_) {
      throw DataError("[arrays] " + printable(listing_.files.root) +
                      ": no file can be read; the first: " + first_reason_);
    }
  }

 private:
  void take(std::size_t record, const NpyFile& file) {
    if (file.shape().elements() == 0) {
      throw DataError("[arrays] " + printable(listing_.files.path(record)) +
                      ": must hold a value, got shape " + to_string(file.shape()));
    }
    if (!known_) {
      known_ = true;
      first_ = record;
      listing_.dtype = file.dtype();
      listing_.largest = file.shape();
    }
    leave_one_out(file.shape());
    const Shape shape = listing_.shape_of(file.shape());
    if (file.dtype() != listing_.dtype || !is_alike(listing_.largest, shape))
      refuse(listing_, first_, record, file);
    const std::int64_t length = shape[shape.rank() - 1];
    listing_.lengths.push_back(length);
    const std::int64_t longest = listing_.largest[listing_.largest.rank() - 1];
    listing_.ragged = listing_.ragged || length != longest;
    if (length > longest) listing_.largest = with_last(listing_.largest, length);
  }

  // Where it is the axis before a last one of 1 that differs.
  void leave_one_out(const Shape& stored) {
    const Shape& first = listing_.largest;
    if (listing_.ragged || !has_one_channel(first) || !has_one_channel(stored) ||
        first[0] != stored[0] || first[1] == stored[1])
      return;
    listing_.without_one = true;
    for (std::int64_t& length : listing_.lengths)
      if (length > 0) length = first[1];
    listing_.largest = without_last(first);
  }

  ArrayListing& listing_;
  bool known_ = false;
  std::size_t first_ = 0;
  std::string first_reason_;
};

}  // namespace

Shape ArrayListing::shape(std::size_t record) const {
  return with_last(largest, lengths[record]);
}

Shape ArrayListing::shape_of(const Shape& stored) const {
  if (!without_one) return stored;
  return has_one_channel(stored) ? without_last(stored) : Shape{};
}

std::size_t ArrayListing::array_bytes(std::size_t record) const {
  if (lengths[record] < 0) return 0;
  return static_cast<std::size_t>(shape(record).elements()) * size_of(dtype);
}

std::size_t ArrayListing::memory() const noexcept {
  return files.memory() + values.memory() + memory_of(lengths);
}

ArrayListing list_arrays(FileTable files, RecordValues values) {
  ArrayListing listing;
  listing.files = std::move(files);
  listing.values = std::move(values);
  Headers headers(listing);
  for (std::size_t record = 0; record < listing.files.size(); ++record)
    headers.take(record);
  headers.finish();
  listing.files.shrink_to_fit();
  listing.values.shrink_to_fit();
  return listing;
}

bool has_npy_extension(std::string_view path) {
  return extension_of(path) == ".npy";
}

}  // namespace headrace::inline v1::detail
