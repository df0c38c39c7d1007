#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_types.h>
#include <headrace/loaders/hdf5/detail/file/kept_from_forks.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/hdf5/internal/chunk_encoder.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <H5Cpp.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1 {
namespace {

struct Target {
  H5::DataSet data;
  DType dtype;
  std::int64_t rows;
  Shape row;
  Hdf5Layout layout;
  std::int64_t written = 0;
  std::vector<std::byte> waiting{};  ///< rows that do not fill a chunk yet

  std::size_t row_bytes() const {
    return size_of(dtype) * static_cast<std::size_t>(row.elements());
  }
};

std::vector<hsize_t> extents_of(std::int64_t rows, const Shape& row) {
  std::vector<hsize_t> extents{static_cast<hsize_t>(rows)};
  for (std::int64_t extent : row.extents())
    extents.push_back(static_cast<hsize_t>(extent));
  return extents;
}

H5::DataSet create(const H5::H5File& file, const std::string& path, DType dtype,
                   const std::vector<hsize_t>& extents, const Hdf5Layout& layout) {
  const H5::DataSpace space(static_cast<int>(extents.size()), extents.data());
  const detail::Hid type = detail::file_type(dtype);
  const H5::DSetCreatPropList creation;
  creation.setFillTime(H5D_FILL_TIME_NEVER);
  if (layout.chunk_rows > 0) {
    std::vector<hsize_t> chunk = extents;
    chunk[0] = static_cast<hsize_t>(layout.chunk_rows);
    creation.setChunk(static_cast<int>(chunk.size()), chunk.data());
    for (const detail::ChunkFilter& filter : detail::filters_for(layout.codec, size_of(dtype))) {
      // Optional, so that the library need not have the codec: it only keeps the number.
      H5Pset_filter(creation.getId(), filter.id, H5Z_FLAG_OPTIONAL, filter.values.size(),
                    filter.values.data());
    }
  } else {
    creation.setLayout(H5D_CONTIGUOUS);
    creation.setAllocTime(H5D_ALLOC_TIME_EARLY);
  }
  const detail::Hid links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const detail::Hid made(H5Dcreate2(file.getId(), path.c_str(), type.get(), space.getId(),
                                    links.get(), creation.getId(), H5P_DEFAULT));
  if (!made.valid()) throw H5::FileIException("Hdf5Writer", "the dataset could not be created");
  return H5::DataSet(made.get());
}

void write(const Target& target, const Tensor& rows) {
  std::vector<hsize_t> extents = extents_of(rows.shape()[0], target.row);
  std::vector<hsize_t> start(extents.size(), 0);
  start[0] = static_cast<hsize_t>(target.written);
  const H5::DataSpace memory(static_cast<int>(extents.size()), extents.data());
  const H5::DataSpace place = target.data.getSpace();
  place.selectHyperslab(H5S_SELECT_SET, extents.data(), start.data());
  target.data.write(rows.raw(), target.data.getDataType(), memory, place);
}

/// Packs whole chunks in several threads, then hands them to the library one after the other.
/// `from` holds as many rows as fill them; the last chunk of all is filled up with zeros.
void write_chunks(Hdf5Thread& thread, const Target& target, std::span<const std::byte> from,
                  std::int64_t first_row) {
  const std::size_t chunk_bytes =
      static_cast<std::size_t>(target.layout.chunk_rows) * target.row_bytes();
  const std::size_t chunks = (from.size() + chunk_bytes - 1) / chunk_bytes;
  std::vector<std::vector<std::byte>> packed(chunks);
  detail::in_parallel(chunks, [&](std::size_t i) {
    const auto part =
        from.subspan(i * chunk_bytes, std::min(chunk_bytes, from.size() - i * chunk_bytes));
    std::vector<std::byte> whole(part.begin(), part.end());
    whole.resize(chunk_bytes);
    packed[i] = detail::encode_chunk(whole, target.layout.codec, size_of(target.dtype));
  });
  thread.run([&] {
    std::vector<hsize_t> offset(static_cast<std::size_t>(target.row.rank()) + 1, 0);
    for (std::size_t i = 0; i < chunks; ++i) {
      offset[0] =
          static_cast<hsize_t>(first_row) + i * static_cast<hsize_t>(target.layout.chunk_rows);
      if (H5Dwrite_chunk(target.data.getId(), H5P_DEFAULT, 0, offset.data(), packed[i].size(),
                         packed[i].data()) < 0) {
        throw H5::DataSetIException("Hdf5Writer", "a chunk could not be written");
      }
    }
  });
}

void append_chunked(Hdf5Thread& thread, Target& target, const Tensor& rows) {
  const std::size_t chunk_bytes =
      static_cast<std::size_t>(target.layout.chunk_rows) * target.row_bytes();
  const auto waiting_rows = static_cast<std::int64_t>(target.waiting.size() / target.row_bytes());
  const auto* from = static_cast<const std::byte*>(rows.raw());
  target.waiting.insert(target.waiting.end(), from, from + rows.bytes());
  const bool last = target.written + rows.shape()[0] == target.rows;
  const std::size_t ready =
      last ? target.waiting.size() : target.waiting.size() / chunk_bytes * chunk_bytes;
  write_chunks(thread, target, {target.waiting.data(), ready}, target.written - waiting_rows);
  target.waiting.erase(target.waiting.begin(),
                       target.waiting.begin() + static_cast<std::ptrdiff_t>(ready));
}

/// Brings a file or folder on the disk.
void sync(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) {
    throw ResourceError("[hdf5] " + detail::printable(path.native()) +
                        ": could not be brought on the disk (" + std::strerror(error) +
                        "); check its free space");
  }
}

}  // namespace

struct Hdf5Writer::Core {
  std::filesystem::path path;
  std::filesystem::path partial;
  std::shared_ptr<Hdf5Thread> thread = Hdf5Thread::shared();
  std::optional<H5::H5File> file;
  std::optional<detail::KeptFromForks> kept;
  std::map<std::string, Target> targets;
  detail::HomeProcess home;

  ~Core() {
    close();
    std::error_code none;
    std::filesystem::remove(partial, none);
  }

  void close() {
    thread->run([this] {
      targets.clear();
      file.reset();
      kept.reset();
    });
  }

  /// Runs on the HDF5 thread; an error of the library or the disk gets the file's name.
  template <class Work>
  void run(const std::string& doing, const Work& work) {
    attempt(doing, [&] { thread->run(work); });
  }

  template <class Work>
  void attempt(const std::string& doing, const Work& work) {
    home.require("[hdf5] " + detail::printable(path.native()) + " in the making");
    try {
      work();
    } catch (const DataError& error) {
      fail(doing + " failed, " + error.what() + "; check the path and the free space");
    }
  }

  /// What carries an attribute. On the HDF5 thread.
  const H5::H5Object& object(const std::string& dataset) {
    if (dataset == "/") return *file;
    const auto found = targets.find(dataset);
    if (found == targets.end())
      throw DataError("dataset \"" + detail::printable(dataset) + "\" was not added");
    return found->second.data;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError("[hdf5] " + detail::printable(path.native()) + ": " + what);
  }
};

Hdf5Writer::Hdf5Writer(std::filesystem::path file) : core_(std::make_unique<Core>()) {
  core_->path = std::move(file);
  core_->partial = core_->path.string() + ".partial." + unique_word();
  core_->run("creating it", [this] {
    core_->file.emplace(core_->partial.c_str(), H5F_ACC_TRUNC);
    core_->kept.emplace(*core_->file);
  });
}

// In a forked process the library would write what it holds of the other one's file.
Hdf5Writer::~Hdf5Writer() {
  if (core_ && core_->home.left()) static_cast<void>(core_.release());
}
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;

void Hdf5Writer::add(const std::string& path, DType dtype, std::int64_t rows, const Shape& row,
                     const Hdf5Layout& layout) {
  const std::string dataset = "dataset \"" + detail::printable(path) + "\" ";
  if (rows < 0) core_->fail(dataset + "needs a number of rows, got " + std::to_string(rows));
  if (layout.chunk_rows < 0 || (layout.chunk_rows == 0 && layout.codec != Hdf5Codec::none)) {
    core_->fail(dataset + "needs chunks of at least one row to be packed, got " +
                std::to_string(layout.chunk_rows));
  }
  Hdf5Layout used = layout;
  used.chunk_rows = std::min(used.chunk_rows, std::max<std::int64_t>(rows, 1));
  core_->run("creating " + dataset, [&] {
    H5::DataSet data = create(*core_->file, path, dtype, extents_of(rows, row), used);
    core_->targets.insert_or_assign(path, Target{std::move(data), dtype, rows, row, used});
  });
}

void Hdf5Writer::append(const std::string& path, const Tensor& rows) {
  const auto found = core_->targets.find(path);
  if (found == core_->targets.end())
    core_->fail("dataset \"" + detail::printable(path) + "\" was not added; add it first");
  Target& target = found->second;
  const Shape& shape = rows.shape();
  if (rows.dtype() != target.dtype || shape.rank() < 1 || shape.row() != target.row) {
    core_->fail("dataset \"" + detail::printable(path) + "\" takes rows of " +
                std::string(name_of(target.dtype)) + " " + to_string(target.row) + ", got " +
                std::string(name_of(rows.dtype())) + " " + to_string(shape) + "; convert them");
  }
  if (shape[0] > target.rows - target.written) {
    core_->fail("dataset \"" + detail::printable(path) + "\" has room for " +
                std::to_string(target.rows - target.written) + " more rows, got " +
                std::to_string(shape[0]) + "; announce more");
  }
  if (shape[0] == 0) return;
  if (target.layout.chunk_rows > 0) {
    core_->attempt("writing dataset \"" + detail::printable(path) + "\"",
                   [&] { append_chunked(*core_->thread, target, rows); });
  } else {
    core_->run("writing dataset \"" + detail::printable(path) + "\"", [&] { write(target, rows); });
  }
  target.written += shape[0];
}

void Hdf5Writer::attribute(const std::string& name, std::string_view text) {
  attribute("/", name, text);
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name,
                           std::string_view text) {
  core_->run("writing attribute \"" + detail::printable(name) + "\"", [&] {
    const H5::StrType type(H5::PredType::C_S1, text.empty() ? 1 : text.size());
    type.setCset(H5T_CSET_UTF8);
    core_->object(object)
        .createAttribute(name, type, H5::DataSpace(H5S_SCALAR))
        .write(type, text.empty() ? "" : text.data());
  });
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name,
                           const Tensor& value) {
  core_->run("writing attribute \"" + detail::printable(name) + "\"", [&] {
    const detail::Hid made = detail::file_type(value.dtype());
    const H5::DataType type(made.get());
    const auto& shape = value.shape();
    const std::vector<hsize_t> extents(shape.extents().begin(), shape.extents().end());
    const H5::DataSpace space =
        extents.empty() ? H5::DataSpace(H5S_SCALAR)
                        : H5::DataSpace(static_cast<int>(extents.size()), extents.data());
    core_->object(object).createAttribute(name, type, space).write(type, value.raw());
  });
}

void Hdf5Writer::finish() {
  for (const auto& [path, target] : core_->targets) {
    if (target.written != target.rows) {
      core_->fail("dataset \"" + detail::printable(path) + "\" was announced with " +
                  std::to_string(target.rows) + " rows, got " + std::to_string(target.written) +
                  "; append the rest");
    }
  }
  core_->run("completing it", [this] { core_->file->flush(H5F_SCOPE_GLOBAL); });
  core_->close();
  sync(core_->partial);
  std::error_code error;
  std::filesystem::rename(core_->partial, core_->path, error);
  if (error) core_->fail("could not be given its name (" + error.message() + "); check the folder");
  const std::filesystem::path folder = core_->path.parent_path();
  sync(folder.empty() ? std::filesystem::path(".") : folder);
}

}  // namespace headrace::inline v1
