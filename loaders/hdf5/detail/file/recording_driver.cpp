#include <headrace/loaders/hdf5/detail/file/recording_driver.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr haddr_t most_address = std::numeric_limits<std::int64_t>::max();

/// What travels in the access list.
struct Info {
  RecordingDriver* driver;
};

/// Reads all, zeros behind the `end` that the file had: the library may read there, and expects
/// them.
bool read_all(int descriptor, haddr_t end, haddr_t address, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = address > most_address ? -1
                                               : ::pread(descriptor, bytes.data(), bytes.size(),
                                                         static_cast<off_t>(address));
    if (got < 0 && address <= most_address && errno == EINTR) continue;
    if (got < 0 || (got == 0 && address < end)) return false;
    if (got == 0) {
      std::ranges::fill(bytes, std::byte{0});
      return true;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    address += static_cast<haddr_t>(got);
  }
  return true;
}

void complain_of_memory() {
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_RESOURCE, H5E_NOSPACE,
           "there is no memory to open the file");
}

void* copy_of(const Info& info) {
  auto* copy = new (std::nothrow) Info(info);
  if (copy == nullptr) complain_of_memory();
  return copy;
}

}  // namespace

/// The library's file begins with its own part.
struct RecordingDriver::File {
  H5FD_t library{};
  RecordingDriver* driver = nullptr;
  int descriptor = -1;
  haddr_t end_of_addresses = 0;
  haddr_t end_of_file = 0;

  static File& of(H5FD_t* file) noexcept { return *reinterpret_cast<File*>(file); }
  static const File& of(const H5FD_t* file) noexcept {
    return *reinterpret_cast<const File*>(file);
  }
};

H5FD_t* RecordingDriver::open(const char* name, unsigned flags, hid_t access, haddr_t) {
  static_assert(offsetof(File, library) == 0);
  const auto* info = static_cast<const Info*>(H5Pget_driver_info(access));
  if (info == nullptr || (flags & H5F_ACC_RDWR) != 0) return nullptr;
  const int descriptor = info->driver->descriptor_of(name);
  struct stat now {};
  if (descriptor < 0 || ::fstat(descriptor, &now) != 0) return nullptr;
  auto* file = new (std::nothrow) File;
  if (file == nullptr) {
    complain_of_memory();
    return nullptr;
  }
  file->driver = info->driver;
  file->descriptor = descriptor;
  file->end_of_file = static_cast<haddr_t>(now.st_size);
  return &file->library;
}

herr_t RecordingDriver::read(H5FD_t* library_file, H5FD_mem_t type, hid_t, haddr_t address,
                             std::size_t bytes, void* to) {
  const int descriptor = File::of(library_file).descriptor;
  RecordingDriver& driver = *File::of(library_file).driver;
  if (driver.recording_ && type == H5FD_MEM_DRAW) {
    ++driver.noted_;
    driver.last_ = {address, bytes};
    return 0;
  }
  const std::span<std::byte> all(static_cast<std::byte*>(to), bytes);
  if (!read_all(descriptor, File::of(library_file).end_of_file, address, all)) return -1;
  const bool admitted = type != H5FD_MEM_DRAW || driver.admits(descriptor, address, all);
  return admitted ? 0 : -1;
}

bool RecordingDriver::admits(int descriptor, std::uint64_t address,
                             std::span<const std::byte> bytes) noexcept {
  try {
    const auto [first, last] = guards_.equal_range(descriptor);
    for (auto each = first; each != last; ++each)
      each->second->check(address, bytes);
    return true;
  } catch (...) {
    refusal_ = std::current_exception();
    return false;
  }
}

void RecordingDriver::guard(int descriptor, std::shared_ptr<ChunkGuard> guard) {
  guards_.emplace(descriptor, std::move(guard));
}

void RecordingDriver::release(const ChunkGuard& guard) noexcept {
  std::erase_if(guards_, [&](const auto& each) { return each.second.get() == &guard; });
}

void RecordingDriver::rethrow_refusal() {
  if (refusal_) std::rethrow_exception(std::exchange(refusal_, nullptr));
}

H5FD_class_t RecordingDriver::functions() {
  H5FD_class_t table{};
#if H5_VERSION_GE(1, 13, 0)
  table.version = H5FD_CLASS_VERSION;
  table.value = static_cast<H5FD_class_value_t>(640);
#endif
  table.name = "headrace_recording";
  table.maxaddr = most_address;
  table.fc_degree = H5F_CLOSE_WEAK;
  table.fapl_size = sizeof(Info);
  // The sources of a virtual dataset are opened with the list of its file.
  table.fapl_get = [](H5FD_t* file) { return copy_of({File::of(file).driver}); };
  table.fapl_copy = [](const void* info) { return copy_of(*static_cast<const Info*>(info)); };
  table.fapl_free = [](void* info) -> herr_t {
    delete static_cast<Info*>(info);
    return 0;
  };
  table.open = &open;
  table.close = [](H5FD_t* file) -> herr_t {
    delete &File::of(file);
    return 0;
  };
  // Without the sieve buffer, which after a failed read holds zeros that count as read.
  table.query = [](const H5FD_t*, unsigned long* flags) -> herr_t {
    if (flags != nullptr) *flags = H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
  };
  table.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return File::of(file).end_of_addresses; };
  table.set_eoa = [](H5FD_t* library_file, H5FD_mem_t, haddr_t address) -> herr_t {
    File& file = File::of(library_file);
    file.end_of_addresses = address;
    file.driver->stated_ends_[file.descriptor] = address;  // permit() made its place
    return 0;
  };
  table.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return File::of(file).end_of_file; };
  table.read = &read;
  table.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) -> herr_t {
    return -1;
  };
  // A writer that holds its lock is noticed; a file system without locks is read all the same.
  table.lock = [](H5FD_t* file, hbool_t) -> herr_t {
    const bool held = ::flock(File::of(file).descriptor, LOCK_SH | LOCK_NB) != 0 &&
                      (errno == EWOULDBLOCK || errno == EACCES);
    return held ? -1 : 0;
  };
  table.unlock = [](H5FD_t* file) -> herr_t {
    // The lock is also that of the process that this one was forked from.
    if (!File::of(file).driver->home_.left()) ::flock(File::of(file).descriptor, LOCK_UN);
    return 0;
  };
  const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), std::begin(table.fl_map));
  return table;
}

RecordingDriver::RecordingDriver(const std::filesystem::path& path, int descriptor) : id_(-1) {
  permit(path, descriptor);
  const H5FD_class_t table = functions();
  id_ = Hid(H5FDregister(&table));
  if (!id_.valid()) throw H5::FileIException("RecordingDriver", "the file driver was refused");
}

RecordingDriver::~RecordingDriver() = default;

void RecordingDriver::set(const H5::FileAccPropList& access) const {
  const Info info{const_cast<RecordingDriver*>(this)};
  if (H5Pset_driver(access.getId(), id_.get(), &info) < 0) {
    throw H5::FileIException("RecordingDriver", "the file driver could not be set");
  }
}

void RecordingDriver::permit(const std::filesystem::path& path, int descriptor) {
  descriptors_.emplace(std::filesystem::weakly_canonical(path), descriptor);
  stated_ends_.emplace(descriptor, 0);
}

int RecordingDriver::descriptor_of(const char* name) const noexcept {
  try {
    const auto found = descriptors_.find(std::filesystem::weakly_canonical(name));
    return found != descriptors_.end() ? found->second : -1;
  } catch (const std::bad_alloc&) {
    complain_of_memory();
  } catch (const std::filesystem::filesystem_error&) {  // a name that leads nowhere
  }
  return -1;
}

std::optional<RecordingDriver::Extent> RecordingDriver::take() noexcept {
  const bool one = noted_ == 1;
  noted_ = 0;
  return one ? std::optional(last_) : std::nullopt;
}

}  // namespace headrace::inline v1::detail
