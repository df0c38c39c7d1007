// Loaded with LD_PRELOAD. It uses no C++ library and takes no memory: it stands below both.
#include <headrace/tests/faults/fault_shim.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

using headrace::test::early_end;
using headrace::test::Fault;
using headrace::test::FaultCall;
using headrace::test::FaultCount;
using headrace::test::short_read;

#define HEADRACE_VISIBLE extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

Fault armed;
std::atomic<bool> on{false};
std::atomic<std::int64_t> calls{0};
std::atomic<std::int64_t> failed{0};
__attribute__((tls_model("initial-exec"))) thread_local int spared = 0;

struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
};
/// Libraries that end the process when they get no memory for themselves: their own requests do not
/// count. The C library and the loader abort; HDF5 and libsndfile follow null pointers.
constexpr const char* spared_names[] = {"libc.so", "ld-linux", "libhdf5_serial.so",
                                        "libsndfile.so"};
Range spared_libraries[std::size(spared_names)];

int note_library(dl_phdr_info* info, std::size_t, void* next) {
  const char* name = std::strrchr(info->dlpi_name, '/');
  name = name == nullptr ? info->dlpi_name : name + 1;
  bool spares = false;
  for (const char* each : spared_names)
    spares = spares || std::strncmp(name, each, std::strlen(each)) == 0;
  if (!spares) return 0;
  Range range{.first = UINTPTR_MAX};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    range.first = first < range.first ? first : range.first;
    const std::uintptr_t last = first + info->dlpi_phdr[i].p_memsz;
    range.last = last > range.last ? last : range.last;
  }
  int& number = *static_cast<int*>(next);
  if (number < int{std::size(spared_names)}) spared_libraries[number++] = range;
  return 0;
}

/// Whether this call is the one to fail. `caller`: the address it comes from.
bool hit(FaultCall call, void* caller) {
  if (!on.load(std::memory_order_acquire) || armed.call != call || spared > 0) return false;
  const auto from = reinterpret_cast<std::uintptr_t>(caller);
  for (const Range& range : spared_libraries) {
    if (call == FaultCall::memory && from >= range.first && from < range.last) return false;
  }
  const std::int64_t number = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < armed.first || number - armed.first >= armed.times) return false;
  failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using Read = ssize_t(int, void*, std::size_t);
using Pread = ssize_t(int, void*, std::size_t, off_t);
using Pwrite = ssize_t(int, const void*, std::size_t, off_t);
using Preadv = ssize_t(int, const iovec*, int, off_t);
using Preadv2 = ssize_t(int, const iovec*, int, off_t, int);
using Syscall = long(long, ...);
using Close = int(int);
using Map = void*(void*, std::size_t, int, int, int, off_t);
using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

Open* real_open;
OpenAt* real_openat;
Read* real_read;
Pread* real_pread;
Pwrite* real_pwrite;
Preadv* real_preadv;
Preadv2* real_preadv2;
Syscall* real_syscall;
Close* real_close;
Map* real_mmap;
Create* real_create;

__attribute__((constructor)) void find_all() {
  real_open = real<Open>("open64");
  real_openat = real<OpenAt>("openat64");
  real_read = real<Read>("read");
  real_pread = real<Pread>("pread64");
  real_pwrite = real<Pwrite>("pwrite64");
  real_preadv = real<Preadv>("preadv64");
  real_preadv2 = real<Preadv2>("preadv64v2");
  real_syscall = real<Syscall>("syscall");
  real_close = real<Close>("close");
  real_mmap = real<Map>("mmap64");
  real_create = real<Create>("pthread_create");
  int next = 0;
  dl_iterate_phdr(&note_library, &next);
}

int open_or_fail(const char* path, int flags, unsigned mode, void* caller) {
  if (real_open == nullptr) find_all();
  if (hit(FaultCall::open, caller)) {
    errno = armed.error;
    return -1;
  }
  return real_open(path, flags, mode);
}

int openat_or_fail(int folder, const char* path, int flags, unsigned mode, void* caller) {
  if (real_openat == nullptr) find_all();
  if (hit(FaultCall::open, caller)) {
    errno = armed.error;
    return -1;
  }
  return real_openat(folder, path, flags, mode);
}

std::size_t half(std::size_t bytes) {
  return bytes > 1 ? bytes / 2 : bytes;
}

ssize_t failed_read() {
  if (armed.error == early_end) return 0;
  errno = armed.error;
  return -1;
}

ssize_t read_or_fail(int file, void* to, std::size_t bytes, void* caller) {
  if (real_read == nullptr) find_all();
  if (!hit(FaultCall::read, caller)) return real_read(file, to, bytes);
  if (armed.error == short_read) return real_read(file, to, half(bytes));
  return failed_read();
}

ssize_t pread_or_fail(int file, void* to, std::size_t bytes, off_t at, void* caller) {
  if (real_pread == nullptr) find_all();
  if (!hit(FaultCall::pread, caller)) return real_pread(file, to, bytes, at);
  if (armed.error == short_read) return real_pread(file, to, half(bytes), at);
  return failed_read();
}

ssize_t pwrite_or_fail(int file, const void* from, std::size_t bytes, off_t at, void* caller) {
  if (real_pwrite == nullptr) find_all();
  if (!hit(FaultCall::pwrite, caller)) return real_pwrite(file, from, bytes, at);
  if (armed.error == short_read) return real_pwrite(file, from, half(bytes), at);
  errno = armed.error;
  return -1;
}

ssize_t preadv_or_fail(int file, const iovec* parts, int count, off_t at, void* caller) {
  if (real_preadv == nullptr) find_all();
  if (!hit(FaultCall::pread, caller)) return real_preadv(file, parts, count, at);
  if (armed.error == short_read) {
    return count > 0 ? real_pread(file, parts[0].iov_base, half(parts[0].iov_len), at)
                     : real_preadv(file, parts, count, at);
  }
  return failed_read();
}

ssize_t preadv2_or_fail(int file, const iovec* parts, int count, off_t at, int flags,
                        void* caller) {
  if (real_preadv2 == nullptr) find_all();
  if (!hit(FaultCall::pread, caller)) return real_preadv2(file, parts, count, at, flags);
  if (armed.error == short_read && count > 0) {
    const iovec part{parts[0].iov_base, half(parts[0].iov_len)};
    return real_preadv2(file, &part, 1, at, flags);
  }
  return failed_read();
}

void* map_or_fail(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset,
                  void* caller) {
  if (real_mmap == nullptr) find_all();
  if (hit(FaultCall::map, caller)) {
    errno = armed.error;
    return MAP_FAILED;
  }
  return real_mmap(at, bytes, protection, flags, file, offset);
}

/// True: this request for memory fails.
bool no_memory(void* caller) {
  if (!hit(FaultCall::memory, caller)) return false;
  errno = ENOMEM;
  return true;
}

unsigned mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0U;
}

}  // namespace

HEADRACE_VISIBLE void headrace_arm_fault(const Fault* fault) {
  on.store(false);
  armed = *fault;
  calls.store(0);
  failed.store(0);
  on.store(true, std::memory_order_release);
}

HEADRACE_VISIBLE FaultCount headrace_disarm_fault() {
  on.store(false);
  return {.calls = calls.load(), .failed = failed.load()};
}

HEADRACE_VISIBLE void headrace_spare_thread(int change) {
  spared += change;
}

#define HEADRACE_CALLER __builtin_return_address(0)

#define HEADRACE_OPEN(name)                                     \
  HEADRACE_VISIBLE int name(const char* path, int flags, ...) { \
    va_list arguments;                                          \
    va_start(arguments, flags);                                 \
    const unsigned mode = mode_of(flags, arguments);            \
    va_end(arguments);                                          \
    return open_or_fail(path, flags, mode, HEADRACE_CALLER);    \
  }
HEADRACE_OPEN(open)
HEADRACE_OPEN(open64)

#define HEADRACE_OPENAT(name)                                               \
  HEADRACE_VISIBLE int name(int folder, const char* path, int flags, ...) { \
    va_list arguments;                                                      \
    va_start(arguments, flags);                                             \
    const unsigned mode = mode_of(flags, arguments);                        \
    va_end(arguments);                                                      \
    return openat_or_fail(folder, path, flags, mode, HEADRACE_CALLER);      \
  }
HEADRACE_OPENAT(openat)
HEADRACE_OPENAT(openat64)

HEADRACE_VISIBLE int __open_2(const char* path, int flags) {
  return open_or_fail(path, flags, 0, HEADRACE_CALLER);
}
HEADRACE_VISIBLE int __open64_2(const char* path, int flags) {
  return open_or_fail(path, flags, 0, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t read(int file, void* to, std::size_t bytes) {
  return read_or_fail(file, to, bytes, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t __read_chk(int file, void* to, std::size_t bytes, std::size_t) {
  return read_or_fail(file, to, bytes, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t pread(int file, void* to, std::size_t bytes, off_t at) {
  return pread_or_fail(file, to, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t pread64(int file, void* to, std::size_t bytes, off_t at) {
  return pread_or_fail(file, to, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t __pread_chk(int file, void* to, std::size_t bytes, off_t at, std::size_t) {
  return pread_or_fail(file, to, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t __pread64_chk(int file, void* to, std::size_t bytes, off_t at,
                                       std::size_t) {
  return pread_or_fail(file, to, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
  return pwrite_or_fail(file, from, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t pwrite64(int file, const void* from, std::size_t bytes, off_t at) {
  return pwrite_or_fail(file, from, bytes, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t preadv(int file, const iovec* parts, int count, off_t at) {
  return preadv_or_fail(file, parts, count, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t preadv64(int file, const iovec* parts, int count, off_t at) {
  return preadv_or_fail(file, parts, count, at, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t preadv2(int file, const iovec* parts, int count, off_t at, int flags) {
  return preadv2_or_fail(file, parts, count, at, flags, HEADRACE_CALLER);
}
HEADRACE_VISIBLE ssize_t preadv64v2(int file, const iovec* parts, int count, off_t at, int flags) {
  return preadv2_or_fail(file, parts, count, at, flags, HEADRACE_CALLER);
}
/// The C library has no openat2 of its own.
HEADRACE_VISIBLE long syscall(long number, ...) {
  if (real_syscall == nullptr) find_all();
  va_list arguments;
  va_start(arguments, number);
  long words[6];
  for (long& word : words)
    word = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_openat2 && hit(FaultCall::open, HEADRACE_CALLER)) {
    errno = armed.error;
    return -1;
  }
  return real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
HEADRACE_VISIBLE int close(int file) {
  if (real_close == nullptr) find_all();
  const bool fails = hit(FaultCall::close, HEADRACE_CALLER);
  const int result = real_close(file);
  if (!fails) return result;
  errno = armed.error;
  return -1;
}
HEADRACE_VISIBLE void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) {
  return map_or_fail(at, bytes, protection, flags, file, offset, HEADRACE_CALLER);
}
HEADRACE_VISIBLE void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
                              off_t offset) {
  return map_or_fail(at, bytes, protection, flags, file, offset, HEADRACE_CALLER);
}
HEADRACE_VISIBLE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                    void* (*start)(void*), void* argument) {
  if (real_create == nullptr) find_all();
  if (hit(FaultCall::thread, HEADRACE_CALLER)) return armed.error;
  return real_create(thread, attributes, start, argument);
}
HEADRACE_VISIBLE void* malloc(std::size_t bytes) {
  return no_memory(HEADRACE_CALLER) ? nullptr : __libc_malloc(bytes);
}
HEADRACE_VISIBLE void* calloc(std::size_t count, std::size_t bytes) {
  return no_memory(HEADRACE_CALLER) ? nullptr : __libc_calloc(count, bytes);
}
HEADRACE_VISIBLE void* realloc(void* memory, std::size_t bytes) {
  return no_memory(HEADRACE_CALLER) ? nullptr : __libc_realloc(memory, bytes);
}
HEADRACE_VISIBLE void* memalign(std::size_t align, std::size_t bytes) {
  return no_memory(HEADRACE_CALLER) ? nullptr : __libc_memalign(align, bytes);
}
HEADRACE_VISIBLE void* aligned_alloc(std::size_t align, std::size_t bytes) {
  return no_memory(HEADRACE_CALLER) ? nullptr : __libc_memalign(align, bytes);
}
HEADRACE_VISIBLE int posix_memalign(void** memory, std::size_t align, std::size_t bytes) {
  if (no_memory(HEADRACE_CALLER)) return ENOMEM;
  *memory = __libc_memalign(align, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
