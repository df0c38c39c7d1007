#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

namespace detail {
struct ArrayListing;
}

/// An array per record in NumPy's .npy format (NpyFile): features, spectrograms. All have one dtype
/// and one shape, but the last axis (time) may differ: then the field is padded with zeros to the
/// longest, and its length stands in "<field>_shape". Fields: `field`, and those of LabelledSource.
/// About 32 bytes and the path per file stay in memory.
class HEADRACE_API ListedArrays : public LabelledSource {
 public:
  /// Path of the array below its root.
  std::string_view path(std::int64_t index) const noexcept;
  RecordFile file(std::int64_t index) const noexcept override;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Reads with pread. Throws DataError naming the file when it cannot be read or is not of the
  /// type and shape that it had when it was listed.
  void read(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  /// Path below the root; control characters as \xHH.
  std::string origin(std::int64_t index) const override;

 protected:
  ListedArrays(std::string name, std::string field,
               std::shared_ptr<const detail::ArrayListing> listing);

 private:
  const detail::RecordValues& values() const noexcept override;

  std::string name_;
  std::string field_;
  std::shared_ptr<const detail::ArrayListing> listing_;
};

}  // namespace headrace::inline v1
