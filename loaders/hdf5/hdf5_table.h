#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/file/stage_progress.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// A dataset of the file as a field of the sample.
struct Hdf5Field {
  std::string name{};  ///< in the sample; empty: the last part of `dataset`
  /// Path in the file: "/features/rnfl_input". A group stands for all datasets directly in it.
  std::string dataset{};
  /// Leading axes that count rows; 0: as many as the table's, or all where the dataset has fewer.
  /// With fewer than the table's, a value belongs to all samples of its place (a label per file).
  int axes = 0;
};

/// Where the rows of a table are read from.
enum class Residence : unsigned char {
  /// Dataset by dataset, smallest first: in memory while the budget lasts, else from the file, else
  /// through the library.
  automatic,
  resident,  ///< all in memory, or ResourceError
  /// As automatic, but chunked datasets are never decoded whole at opening: chunk by chunk as they
  /// are wanted, kept in the rest of the memory.
  cached,
  /// All from the file: rows by `pread`, chunks decoded and kept in the rest of the memory;
  /// ConfigError when only the library can read a dataset.
  pread,
  file,     ///< as pread, and through the library what only it can read
  library,  ///< all through the library (slow: for comparison and tests)
};

struct Hdf5TableOptions {
  std::filesystem::path file{};
  std::vector<Hdf5Field> fields{};
  /// Bytes that resident datasets, decoded chunks, their indexes and what the library keeps may
  /// take together, of all files (one chunk is always kept, and indexes of 16 MiB); also the
  /// largest chunk.
  std::size_t memory = 2_GiB;
  Residence residence = Residence::automatic;
  LogCallback log{};  ///< told once, at construction, where each dataset is read from
  /// Further files of the same fields; their rows follow.
  std::vector<std::filesystem::path> more_files{};
  /// Leading axes whose places are samples: 3 for `[files, long, short, mels, frames]`.
  int sample_axes = 1;
  /// A folder (a fast disk, or /dev/shm) the files are copied to before anything is read; room and
  /// checksum are checked, and the copies vanish with the table or the process. Empty: none.
  std::filesystem::path stage{};
  StageCallback on_stage{};  ///< told of the progress of the copies
  /// Names of attributes to read, of the first file's root and of its datasets; "*": all of them.
  std::vector<std::string> attributes{};
  /// Long chunk indexes are kept beside the file ("<file>.headrace-index") for the next opening.
  bool keep_index = true;
};

/// A value that the file carries beside its data.
struct Hdf5Attribute {
  std::string object{};  ///< "/" or the dataset's path
  std::string name{};
  std::string text{};                ///< of a string
  std::vector<std::string> texts{};  ///< of an array of strings with one axis
  Tensor value{};                    ///< of numbers; scalars have rank 0
};

/// Chunks that a table unpacked since it was opened, those decoded whole at opening left out.
struct Hdf5ChunkReads {
  std::uint64_t bytes_unpacked = 0;
  std::uint64_t bytes_used = 0;  ///< of rows that were copied out of chunks, kept ones too
};

/// Rows of HDF5 files: datasets with equal leading extents are the fields of a sample. Datasets in
/// one piece are kept in huge-page memory or read by sorted and joined `pread`; chunks (plain,
/// deflate, shuffle, Fletcher-32, LZF, LZ4, Zstd, bitshuffle) are decoded by the reading threads
/// and kept in a cache of fixed size; all of it past the library and its lock. What only the
/// library can read (compact, virtual, n-bit, scale-offset, szip) is copied into memory where it
/// fits, else read through it row by row, and the log says so.
///
/// Types: integers, IEEE floats of 16, 32, 64 bits, bfloat16, FALSE/TRUE enumerations as boolean,
/// other enumerations as their integers, arrays of these, fixed strings as uint8; either byte
/// order. Sequences of numbers and strings (their bytes) of variable length are ragged fields;
/// their references are placed as other datasets, their values are always read from the file. Files
/// are not trusted: external links and storage, virtual datasets with a source outside the file's
/// folder and filters that need a plugin are refused, sizes are checked before memory is taken. The
/// library is called on one thread only (see Hdf5Thread); files are never mapped.
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
  /// False where a field is ragged: its rows come by read() alone.
  bool gathers() const override;
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::int64_t preferred_rows() const override;
  std::size_t resident_bytes() const override;
  /// "glaucoma.h5:/labels[17]", of the first field; every sample axis has its place.
  std::string origin(std::int64_t index) const override;

  /// One line for each dataset: where its rows are read from, and why not faster.
  const std::vector<std::string>& notes() const noexcept;
  /// The attributes that were asked for and are there: numbers and strings, small ones.
  const std::vector<Hdf5Attribute>& attributes() const noexcept;
  /// Rows of the first field that lie in one chunk: what ShuffledByChunk wants to know. 1 where
  /// rows are not chunked.
  std::int64_t chunk_rows() const noexcept;
  /// Far more unpacked than used: the order of the rows and the chunks do not fit. Any thread.
  Hdf5ChunkReads chunk_reads() const noexcept;

 private:
  struct Core;
  std::unique_ptr<const Core> core_;
};

}  // namespace headrace::inline v1
