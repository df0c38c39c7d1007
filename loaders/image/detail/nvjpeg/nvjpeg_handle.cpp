#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_handle.h>

#include <map>
#include <mutex>

#include <dlfcn.h>

namespace headrace::inline v1::detail {
namespace {

using nvjpeg::Backend;
using nvjpeg::Status;

constexpr unsigned flags =
    nvjpeg::no_pipeline | nvjpeg::strict_bitstream | nvjpeg::interpolated_upsampling;

std::string version_text(const std::array<int, 3>& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]);
}

std::string describe(const NvjpegHandle& made, bool has_video) {
  std::string text = "nvJPEG " + version_text(made.library->version) + ", ";
  switch (made.backend) {
    case Backend::hardware:
      text += "hardware engines";
      break;
    case Backend::gpu:
      text += "GPU (CPU Huffman for parts of 50 pictures or fewer)";
      break;
    case Backend::automatic:
      text += "CPU Huffman";
      break;
  }
  if (!has_video && made.backend != Backend::hardware)
    text += "; hardware engines need the driver's libnvcuvid.so.1, which cannot be opened";
  if (made.library->version < std::array{13, 4, 1})
    text += "; before 13.4.1 a damaged scan may crash it";
  return text;
}

}  // namespace

void DestroyNvjpeg::operator()(void* object) const noexcept {
  if (!is_process_ending()) function(object);
}

void check_nvjpeg(Status status, Device device, const char* what) {
  if (status == Status::success) return;
  throw DeviceError("[decode] " + to_string(device) + ": " + what +
                    " failed, nvJPEG answers status " + std::to_string(static_cast<int>(status)) +
                    "; decode on the CPU");
}

bool has_video_library() {
  void* library = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

NvjpegHandle make_nvjpeg_handle(const NvjpegLibrary& library, Device device, bool has_video) {
  const DeviceScope scope(device);
  NvjpegHandle made{.device = device, .library = &library};
  void* handle = nullptr;
  Status status = Status::success;
  for (const Backend backend : {Backend::hardware, Backend::gpu, Backend::automatic}) {
    if (backend == Backend::hardware && !has_video) continue;
    made.backend = backend;
    status = library.call.create(backend, nullptr, nullptr, flags, &handle);
    if (status == Status::success) break;
  }
  check_nvjpeg(status, device, "setting up the decoder");
  made.object = NvjpegObject(handle, DestroyNvjpeg{library.call.destroy});
  made.description = describe(made, has_video);
  return made;
}

std::shared_ptr<const NvjpegHandle> nvjpeg_handle(Device device) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const NvjpegHandle>> handles;
  const NvjpegLibrary& library = require_nvjpeg("decode");
  const std::lock_guard lock(mutex);
  std::weak_ptr<const NvjpegHandle>& known = handles[device.index];
  std::shared_ptr<const NvjpegHandle> handle = known.lock();
  if (!handle) {
    // It dies inside its device.
    handle = {new NvjpegHandle(make_nvjpeg_handle(library, device, has_video_library())),
              [](const NvjpegHandle* dying) {
                try {
                  const DeviceScope scope(dying->device);
                  delete dying;
                } catch (const DeviceError&) {  // it has failed and has nothing left to give back
                }
              }};
    known = handle;
  }
  return handle;
}

NvjpegProbe::NvjpegProbe(Device device) : handle_(nvjpeg_handle(device)) {
  const DeviceScope scope(device);
  void* made = nullptr;
  check_nvjpeg(handle_->call().create_stream(handle_->object.get(), &made), device,
               "making a header reader");
  header_ = NvjpegObject(made, DestroyNvjpeg{handle_->call().destroy_stream});
}

NvjpegProbe::~NvjpegProbe() {
  try {
    const DeviceScope scope(handle_->device);
    header_.reset();
  } catch (const DeviceError&) {  // it has failed and has nothing left to give back
    static_cast<void>(header_.release());
  }
}

bool NvjpegProbe::takes(std::span<const std::byte> file) {
  const DeviceScope scope(handle_->device);
  const nvjpeg::Functions& call = handle_->call();
  const auto* data = reinterpret_cast<const unsigned char*>(file.data());
  int unsupported = 1;
  return call.parse_header(handle_->object.get(), data, file.size(), header_.get()) ==
             Status::success &&
         call.batched_supported(handle_->object.get(), header_.get(), &unsupported) ==
             Status::success &&
         unsupported == 0;
}

}  // namespace headrace::inline v1::detail
