#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/detail/file/data_file.h>
#include <headrace/loaders/hdf5/detail/file/recording_driver.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// For H5Pset_elink_cb: called before the library follows a link into another file, and refuses it.
/// `refused`, a std::string, becomes the file's name.
inline herr_t refuse_external(const char*, const char*, const char* file, const char*, unsigned*,
                              hid_t, void* refused) {
  *static_cast<std::string*>(refused) = file != nullptr ? file : "another file";
  return -1;
}

/// Ends on the HDF5 thread what is the library's. What another process has made stays: its library
/// may have more of the same file open.
template <class T>
void end_on(Hdf5Thread& thread, const HomeProcess& home, std::unique_ptr<T>& it) noexcept {
  try {
    if (home.left())
      static_cast<void>(it.release());
    else
      thread.run([&] { it.reset(); });
  } catch (...) {
    static_cast<void>(it.release());
  }
}

/// A data file that the library has open in this process, for reading, from the same descriptor.
class Hdf5File final : public DataFile {
 public:
  /// Throws also DataError when the library cannot open it.
  explicit Hdf5File(std::filesystem::path path, const Stage& stage = {});
  Hdf5File(std::filesystem::path path, const Handed& handed, const Stage& stage);
  ~Hdf5File() { end_on(*thread_, home_, opened_); }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  Hdf5Thread& thread() const noexcept { return *thread_; }
  /// On the HDF5 thread only.
  const H5::H5File& library() const noexcept { return *opened_->library; }
  RecordingDriver& driver() const noexcept { return opened_->driver; }
  /// Where its data end: where it says that it ends, if that is less than its size. The library
  /// reads no further and delivers what its memory holds instead. On the HDF5 thread only.
  std::uint64_t end() const;
  /// Opens another file for the library, which a virtual dataset of this one names, as the library
  /// would find it; kept as long as this file. Throws DataError when there is none, or when it does
  /// not lie in this file's folder or below. On the HDF5 thread, while the table is opened.
  const Hdf5File& source(const std::string& name) const;
  /// When and how large the sources were, in order of their paths.
  std::vector<Times> source_times() const;
  /// As DataFile's, for the sources too.
  void require_all_unchanged() const;

 private:
  struct Opened {
    RecordingDriver driver;
    std::optional<H5::H5File> library{};
  };

  const Hdf5File& open_source(const std::string& name) const;
  void open();
  void open_for_library();

  Stage stage_;  ///< of its sources
  std::shared_ptr<Hdf5Thread> thread_;
  HomeProcess home_;
  std::unique_ptr<Opened> opened_;
  mutable std::map<std::filesystem::path, std::unique_ptr<const Hdf5File>> sources_;
};

}  // namespace headrace::inline v1::detail
