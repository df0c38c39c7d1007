#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <headrace/engine/pipeline.h>
#include <headrace/engine/source.h>

namespace headrace::inline v1 {

/// A dataset of the file as a field of the sample.
struct Hdf5Field {
  std::string name{};     ///< in the sample; empty: the last part of `dataset`
  std::string dataset{};  ///< path in the file: "/features/rnfl_input"
};

/// Where the rows of a table are read from.
enum class Residence : unsigned char {
  automatic,  ///< dataset by dataset, smallest first: in memory while the budget lasts, else
              ///< `pread`, else the library
  resident,   ///< all in memory, or ResourceError
  pread,      ///< all from the file; ConfigError when a dataset does not lie in one piece
  library,    ///< all through the library (slow: for comparison and tests)
};

struct Hdf5TableOptions {
  std::filesystem::path file{};
  std::vector<Hdf5Field> fields{};
  std::size_t memory =
      2_GiB;  ///< bytes that resident datasets may take together; also the largest chunk
  Residence residence = Residence::automatic;
  LogCallback log{};  ///< told once, at construction, where each dataset is read from
};

/// Rows of an HDF5 file: datasets with one leading extent are the fields of a sample. Datasets that
/// lie in one piece are kept in huge-page memory or read by sorted and joined `pread`, past the
/// library and its lock; all others (chunked, compressed, compact) are copied into memory through
/// the library where they fit, else read through it row by row, and the log says so.
///
/// Types: integers, IEEE floats of 16, 32, 64 bits, bfloat16, FALSE/TRUE enumerations as boolean,
/// other enumerations as their integers, arrays of these, fixed strings as uint8; either byte
/// order. Files are not trusted: external links and storage, virtual datasets and filters that need
/// a plugin are refused, sizes are checked before memory is taken. The library is called on one
/// thread only (see Hdf5Thread); files are never mapped.
class HEADRACE_API Hdf5Table final : public Source {
 public:
  /// Opens and checks the file and loads what is to be resident. Throws ConfigError for what cannot
  /// be right, ResourceError with the sum when `resident` does not fit, DataError for a file that
  /// is damaged, refused or being changed.
  explicit Hdf5Table(Hdf5TableOptions options);
  ~Hdf5Table() override;
  Hdf5Table(Hdf5Table&&) noexcept;
  Hdf5Table& operator=(Hdf5Table&&) noexcept;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Lends resident rows without a copy. Throws DataError naming the file when it was changed.
  void read(std::int64_t index, Sample& sample) const override;
  bool blocking() const override;
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::int64_t preferred_rows() const override;
  std::size_t resident_bytes() const override;
  /// "glaucoma.h5:/labels[17]", of the first field.
  std::string origin(std::int64_t index) const override;

  /// One line for each dataset: where its rows are read from, and why not faster.
  const std::vector<std::string>& notes() const noexcept;

 private:
  struct Core;
  std::unique_ptr<const Core> core_;
};

}  // namespace headrace::inline v1
