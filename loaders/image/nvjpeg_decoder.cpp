#include <headrace/loaders/image/nvjpeg_decoder.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/device_buffers.h>
#include <headrace/loaders/image/detail/nvjpeg_library.h>
#include <headrace/loaders/image/pixel_buffer.h>

namespace headrace::inline v1 {
namespace {

namespace nvjpeg = detail::nvjpeg;
using nvjpeg::Status;

std::atomic<std::int64_t> decoded_on_device{0};
std::atomic<std::int64_t> decoded_on_cpu{0};

void check(Status status, Device device, const char* what) {
  if (status == Status::success) return;
  throw DeviceError("[decode] " + to_string(device) + ": " + what +
                    " failed, nvJPEG answers status " + std::to_string(static_cast<int>(status)) +
                    "; decode on the CPU");
}

struct Destroy {
  Status (*function)(void*) = nullptr;
  void operator()(void* object) const noexcept {
    if (!detail::is_process_ending()) function(object);
  }
};
using Owned = std::unique_ptr<void, Destroy>;

/// nvJPEG's library handle of a device, by its JPEG engines where it has some.
void* make_handle(const nvjpeg::Functions& call, Device device) {
  constexpr unsigned flags =
      nvjpeg::no_pipeline | nvjpeg::strict_bitstream | nvjpeg::interpolated_upsampling;
  void* handle = nullptr;
  if (call.create(nvjpeg::Backend::hardware, nullptr, nullptr, flags, &handle) == Status::success)
    return handle;
  check(call.create(nvjpeg::Backend::automatic, nullptr, nullptr, flags, &handle), device,
        "setting up the decoder");
  return handle;
}

/// The one handle that all threads share; it ends with the last of them.
std::shared_ptr<void> handle_of(const nvjpeg::Functions& call, Device device) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<void>> handles;
  const std::lock_guard lock(mutex);
  std::weak_ptr<void>& known = handles[device.index];
  std::shared_ptr<void> handle = known.lock();
  if (!handle) {
    handle = std::shared_ptr<void>(make_handle(call, device), Destroy{call.destroy});
    known = handle;
  }
  return handle;
}

/// Packed pixels of 3 bytes to pixels of 4, of which the last byte holds anything. A byte behind
/// the last pixel is read.
void widen(const std::byte* packed, int count, std::uint8_t* out) {
  for (int i = 0; i < count; ++i, packed += 3, out += 4)
    std::memcpy(out, packed, 4);
}

std::size_t packed_bytes(int width, int height) {
  return std::size_t{3} * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
}

}  // namespace

struct NvjpegDecoder::State {
  Device device;
  const nvjpeg::Functions& call;
  std::shared_ptr<void> handle;
  Owned header;
  Owned decoder;
  bool ready = false;  ///< the decoder's state, for the next image
  detail::DeviceStream stream;
  detail::DeviceEvent done;
  detail::PinnedBuffer file{device};
  detail::DeviceBuffer picture{device};
  detail::PinnedBuffer packed{device};
  detail::PixelBuffer pixels;

  State(Device device, const nvjpeg::Functions& call);
  ~State();
  bool decode(std::span<const std::byte> bytes, int width, std::byte* to);
  void get_ready();
  void fail(Status status);
};

NvjpegDecoder::State::State(Device wanted, const nvjpeg::Functions& functions)
    : device(wanted), call(functions) {
  const detail::DeviceScope scope(device);
  stream = detail::make_stream(device, false);
  done = detail::make_awaited_event(device);
  handle = handle_of(call, device);
  void* made = nullptr;
  check(call.create_stream(handle.get(), &made), device, "making a header reader");
  header = Owned(made, Destroy{call.destroy_stream});
  check(call.create_state(handle.get(), &made), device, "making a decoder");
  decoder = Owned(made, Destroy{call.destroy_state});
}

NvjpegDecoder::State::~State() {
  try {
    const detail::DeviceScope scope(device);
    decoder.reset();
    header.reset();
    handle.reset();
  } catch (const DeviceError&) {  // the device has failed and has nothing left to give back
  }
}

void NvjpegDecoder::State::get_ready() {
  if (ready) return;
  check(call.initialize_batched(handle.get(), decoder.get(), 1, 1,
                                nvjpeg::OutputFormat::interleaved_rgb),
        device, "preparing the decoder");
  ready = true;
}

/// Throws unless the image is to blame.
void NvjpegDecoder::State::fail(Status status) {
  ready = false;
  detail::drain(Stream{stream.get()});
  if (status == Status::allocator_failure) {
    throw ResourceError("[decode] " + to_string(device) +
                        ": nvJPEG got no memory; use fewer threads, or decode on the CPU");
  }
  detail::require_health(Stream{stream.get()});
}

/// Begins the decode of a whole file to packed rows on the device; false where nvJPEG does not
/// take it.
bool NvjpegDecoder::State::decode(std::span<const std::byte> bytes, int width, std::byte* to) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t length = bytes.size();
  if (call.parse_header(handle.get(), data, length, header.get()) != Status::success) return false;
  int unsupported = 1;
  if (call.batched_supported(handle.get(), header.get(), &unsupported) != Status::success ||
      unsupported != 0) {
    return false;
  }
  get_ready();
  nvjpeg::Image image{{reinterpret_cast<unsigned char*>(to)}, {packed_bytes(width, 1)}};
  const Status status =
      call.decode_batched(handle.get(), decoder.get(), &data, &length, &image, stream.get());
  if (status == Status::success) return true;
  fail(status);
  return false;
}

void NvjpegDecoder::require(Device device, const std::string& who) {
  detail::require_device(device, who);
  detail::require_nvjpeg(who);
}

NvjpegDecoder::NvjpegDecoder(Device device) {
  require(device, "decode");
  state_ = std::make_unique<State>(device, detail::require_nvjpeg("decode"));
}

NvjpegDecoder::~NvjpegDecoder() = default;

std::optional<DecodedPixels> NvjpegDecoder::decode(std::span<const std::byte> file,
                                                   const ImageHeader& header,
                                                   const Region& region) {
  State& state = *state_;
  const std::size_t picture_bytes = packed_bytes(header.width, header.height);
  if (picture_bytes > most_bytes || file.size() > most_bytes) return std::nullopt;
  const std::size_t row = packed_bytes(region.width, 1);
  const auto rows = static_cast<std::size_t>(region.height);
  const std::size_t stride = detail::PixelBuffer::padded(row / 3 * 4);

  const detail::DeviceScope scope(state.device);
  std::byte* copied = state.file.reserve(file.size());
  std::byte* picture = state.picture.reserve(picture_bytes);
  std::byte* packed = state.packed.reserve(row * rows + 1);
  std::uint8_t* pixels = state.pixels.reserve(stride * rows);
  std::memcpy(copied, file.data(), file.size());
  if (!state.decode({copied, file.size()}, header.width, picture)) return std::nullopt;
  const std::size_t first = packed_bytes(header.width, region.y) + packed_bytes(region.x, 1);
  const Stream stream{state.stream.get()};
  try {
    detail::copy_rows_to_host(packed, picture + first, packed_bytes(header.width, 1), row, rows,
                              stream);
    detail::record(state.done, stream);
    detail::await(state.done);
  } catch (const DeviceError&) {
    detail::drain(stream);  // the decode may still read and write these buffers
    throw;
  }
  for (std::size_t y = 0; y < rows; ++y)
    widen(packed + row * y, region.width, pixels + stride * y);
  return DecodedPixels{.data = pixels, .stride = stride, .scale = 1, .region = region};
}

DeviceDecodes device_decodes() noexcept {
  return {decoded_on_device.load(std::memory_order_relaxed),
          decoded_on_cpu.load(std::memory_order_relaxed)};
}

void detail::count_device_decode(bool on_device) noexcept {
  (on_device ? decoded_on_device : decoded_on_cpu).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headrace::inline v1
