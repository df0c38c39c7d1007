#pragma once

#include <headrace/engine/tensor/device.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_library.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// Gives an object of nvJPEG's back, unless the process is ending.
struct DestroyNvjpeg {
  nvjpeg::Status (*function)(void*) = nullptr;
  void operator()(void* object) const noexcept;
};
using NvjpegObject = std::unique_ptr<void, DestroyNvjpeg>;

/// Throws DeviceError naming the device and the status.
void check_nvjpeg(nvjpeg::Status status, Device device, const char* what);

/// nvJPEG on one device.
struct NvjpegHandle {
  Device device;
  const NvjpegLibrary* library = nullptr;
  NvjpegObject object{};
  nvjpeg::Backend backend = nvjpeg::Backend::automatic;
  std::string description{};  ///< "nvJPEG 13.4.1, hardware engines", and why no better one runs

  const nvjpeg::Functions& call() const noexcept { return library->call; }
};

/// The one handle of a device that all threads share; it ends with the last of them. The first of
/// these that the device has: its JPEG engines, its kernels, nvJPEG's own choice. Thread-safe.
/// Throws as require_nvjpeg(), and DeviceError where nvJPEG cannot be set up.
std::shared_ptr<const NvjpegHandle> nvjpeg_handle(Device device);

/// As nvjpeg_handle() without sharing; `has_video` says whether the driver's video library is
/// there, which the engines are reached through.
NvjpegHandle make_nvjpeg_handle(const NvjpegLibrary& library, Device device, bool has_video);

/// One thread's look at the headers of files, which says whether a device takes them. Throws as
/// nvjpeg_handle().
class NvjpegProbe {
 public:
  explicit NvjpegProbe(Device device);
  ~NvjpegProbe();
  NvjpegProbe(const NvjpegProbe&) = delete;
  NvjpegProbe& operator=(const NvjpegProbe&) = delete;

  bool takes(std::span<const std::byte> file);

 private:
  std::shared_ptr<const NvjpegHandle> handle_;
  NvjpegObject header_;
};

/// Whether libnvcuvid.so.1 can be opened. A container may lack it: it comes with the driver's
/// capability "video".
bool has_video_library();

}  // namespace headrace::inline v1::detail
