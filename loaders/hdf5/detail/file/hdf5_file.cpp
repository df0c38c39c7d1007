#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {

Hdf5File::Hdf5File(std::filesystem::path path, const Stage& stage)
    : DataFile(std::move(path), stage), stage_(stage), thread_(Hdf5Thread::shared()) {
  open();
}

Hdf5File::Hdf5File(std::filesystem::path path, const Handed& handed, const Stage& stage)
    : DataFile(std::move(path), handed), stage_(stage), thread_(Hdf5Thread::shared()) {
  open();
}

void Hdf5File::open() {
  try {
    thread_->run([this] { open_for_library(); });
  } catch (const DataError& error) {
    end_on(*thread_, home_, opened_);
    throw DataError(
        "[hdf5] " + printable(path().native()) + ": cannot be opened, " + error.what() +
        "; check that it is a whole HDF5 file (of MATLAB: saved with -v7.3) and that nobody is "
        "writing it");
  } catch (...) {
    end_on(*thread_, home_, opened_);
    throw;
  }
}

void Hdf5File::open_for_library() {
  opened_.reset(new Opened{.driver = {path(), descriptor()}});
  const H5::FileAccPropList access;
  driver().set(access);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.getId(), true, true);  // where there are no locks, reads go on
#endif
  opened_->library.emplace(path().c_str(), H5F_ACC_RDONLY, H5::FileCreatPropList::DEFAULT, access);
}

std::uint64_t Hdf5File::end() const {
  return std::min(size(), driver().stated_end(descriptor()));
}

const Hdf5File& Hdf5File::source(const std::string& name) const {
  try {
    return open_source(name);
  } catch (const std::filesystem::filesystem_error& error) {
    throw DataError("has its data in \"" + printable(name) + "\", which leads nowhere (" +
                    error.code().message() + ")");
  }
}

const Hdf5File& Hdf5File::open_source(const std::string& name) const {
  namespace fs = std::filesystem;
  const fs::path own = fs::canonical(this->path()), folder = own.parent_path();
  // The library looks for a full path that has gone in the file's own folder.
  fs::path path = name == "." ? own : fs::weakly_canonical(folder / name);
  if (fs::path(name).is_absolute() && !fs::is_regular_file(path))
    path = fs::weakly_canonical(folder / fs::path(name).filename());
  if (std::ranges::mismatch(folder, path).in1 != folder.end()) {
    throw DataError("has its data in \"" + printable(name) + "\", outside the folder " +
                    printable(folder.native()) +
                    ", which is refused; put the files beside each "
                    "other");
  }
  if (path == own) return *this;
  if (!fs::is_regular_file(path)) {
    throw DataError("has its data in \"" + printable(name) + "\", but there is no file " +
                    printable(path.native()) + "; put it back");
  }
  std::unique_ptr<const Hdf5File>& source = sources_[path];
  if (!source) {
    constexpr std::size_t open_file_bytes = std::size_t{8} << 20;  // the library opens it twice
    expect_work(fs::file_size(path) + open_file_bytes, open_file_bytes);
    source = std::make_unique<const Hdf5File>(path, stage_);
    driver().permit(path, source->descriptor());
  }
  return *source;
}

std::vector<DataFile::Times> Hdf5File::source_times() const {
  std::vector<Times> times;
  for (const auto& [path, source] : sources_)
    times.push_back(source->named());
  return times;
}

void Hdf5File::require_all_unchanged() const {
  for (const auto& [path, source] : sources_)
    source->require_all_unchanged();
  require_unchanged();
}

}  // namespace headrace::inline v1::detail
