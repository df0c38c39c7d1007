#pragma once

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

/// A data file that the library has open in this process, for reading, from the same descriptor.
class Hdf5File final : public DataFile {
 public:
  /// Throws also DataError when the library cannot open it.
  explicit Hdf5File(std::filesystem::path path, const Stage& stage = {});
  Hdf5File(std::filesystem::path path, const Handed& handed, const Stage& stage);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  Hdf5Thread& thread() const noexcept { return *thread_; }
  /// On the HDF5 thread only.
  const H5::H5File& library() const noexcept { return *library_; }
  RecordingDriver& driver() const noexcept { return *driver_; }
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
  const Hdf5File& open_source(const std::string& name) const;
  void open();
  void open_for_library();
  void close() noexcept;

  Stage stage_;  ///< of its sources
  std::shared_ptr<Hdf5Thread> thread_;
  mutable std::optional<RecordingDriver> driver_;
  std::optional<H5::H5File> library_;
  mutable std::map<std::filesystem::path, std::unique_ptr<const Hdf5File>> sources_;
};

}  // namespace headrace::inline v1::detail
