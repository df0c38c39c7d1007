#include "nvjpeg_stand_in.h"

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <jpeglib.h>

namespace {

using headrace::test::nvjpeg::Behaviour;
using headrace::test::nvjpeg::Calls;
using headrace::test::nvjpeg::Queue;

enum Status : int {
  success = 0,
  not_initialized = 1,
  invalid_parameter = 2,
  bad_jpeg = 3,
  arch_mismatch = 7,
};

struct Image {
  unsigned char* channel[4];
  std::size_t pitch[4];
};
struct Handle {};
struct Header {
  bool parsed = false;
};
struct State {
  int batch = 0;
  std::shared_ptr<std::atomic<int>> at_work = std::make_shared<std::atomic<int>>(0);
};

std::mutex state_mutex;
Queue queue;
Behaviour behaviour;
Calls counts;
std::int64_t failing_calls = 0;

/// The status that the test wants of this call.
int wanted(const char* function) {
  std::lock_guard lock(state_mutex);
  if (behaviour.failing != function) return success;
  const std::int64_t number = failing_calls++;
  const bool fails = number >= behaviour.from && number < behaviour.from + behaviour.times;
  return fails ? behaviour.status : success;
}

void count(std::int64_t Calls::*what, std::int64_t change = 1) {
  std::lock_guard lock(state_mutex);
  counts.*what += change;
}

int delay() {
  std::lock_guard lock(state_mutex);
  return behaviour.delay_us;
}

bool marks() {
  std::lock_guard lock(state_mutex);
  return behaviour.marks;
}

bool is_refused(unsigned width) {
  std::lock_guard lock(state_mutex);
  return behaviour.refused_width != 0 && width == static_cast<unsigned>(behaviour.refused_width);
}

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr error{};
  std::jmp_buf jump;

  Decoder() {
    info.err = jpeg_std_error(&error);
    error.error_exit = [](j_common_ptr from) {
      std::longjmp(static_cast<Decoder*>(from->client_data)->jump, 1);
    };
    error.output_message = [](j_common_ptr) {};
    jpeg_create_decompress(&info);
    info.client_data = this;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool open(const unsigned char* data, std::size_t length) {
    if (setjmp(jump) != 0) return false;
    jpeg_mem_src(&info, data, length);
    return jpeg_read_header(&info, TRUE) == JPEG_HEADER_OK;
  }
  bool decode(const Image& to) {
    if (setjmp(jump) != 0) return false;
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = to.channel[0] + to.pitch[0] * info.output_scanline;
      jpeg_read_scanlines(&info, &row, 1);
      if (!marks()) continue;
      for (unsigned i = 0; i < 3 * info.output_width; ++i)
        row[i] = static_cast<unsigned char>(~row[i]);
    }
    jpeg_finish_decompress(&info);
    return true;
  }
};

}  // namespace

namespace headrace::test::nvjpeg {

void reset(Queue wanted_queue, Behaviour wanted_behaviour) {
  std::lock_guard lock(state_mutex);
  queue = std::move(wanted_queue);
  behaviour = std::move(wanted_behaviour);
  counts = {.live_handles = counts.live_handles,
            .live_states = counts.live_states,
            .live_headers = counts.live_headers};
  failing_calls = 0;
}

Calls calls() {
  std::lock_guard lock(state_mutex);
  return counts;
}

}  // namespace headrace::test::nvjpeg

extern "C" {

int nvjpegGetProperty(int part, int* value) {
  std::lock_guard lock(state_mutex);
  *value = behaviour.version.at(static_cast<std::size_t>(part));
  return success;
}

int nvjpegCreateEx(int backend, void*, void*, unsigned flags, void** handle) {
  if (const int status = wanted("nvjpegCreateEx")) return status;
  std::lock_guard lock(state_mutex);
  if (backend == 3 && !behaviour.engines) return arch_mismatch;
  if (backend == 2 && !behaviour.kernels) return arch_mismatch;
  counts.backend = backend;
  counts.flags = flags;
  ++counts.handles;
  ++counts.live_handles;
  *handle = new Handle;
  return success;
}
int nvjpegDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  count(&Calls::live_handles, -1);
  return success;
}

int nvjpegJpegStateCreate(void*, void** state) {
  if (const int status = wanted("nvjpegJpegStateCreate")) return status;
  *state = new State;
  count(&Calls::live_states);
  return success;
}
int nvjpegJpegStateDestroy(void* state) {
  delete static_cast<State*>(state);
  count(&Calls::live_states, -1);
  return success;
}

int nvjpegJpegStreamCreate(void*, void** header) {
  if (const int status = wanted("nvjpegJpegStreamCreate")) return status;
  *header = new Header;
  count(&Calls::live_headers);
  return success;
}
int nvjpegJpegStreamDestroy(void* header) {
  delete static_cast<Header*>(header);
  count(&Calls::live_headers, -1);
  return success;
}

int nvjpegJpegStreamParseHeader(void*, const unsigned char* data, std::size_t length,
                                void* header) {
  if (const int status = wanted("nvjpegJpegStreamParseHeader")) return status;
  Decoder decoder;
  auto& parsed = static_cast<Header*>(header)->parsed;
  parsed = decoder.open(data, length);
  return parsed ? success : bad_jpeg;
}

int nvjpegDecodeBatchedSupported(void*, void* header, int* supported) {
  if (const int status = wanted("nvjpegDecodeBatchedSupported")) return status;
  if (!static_cast<Header*>(header)->parsed) return invalid_parameter;
  *supported = wanted("unsupported");
  return success;
}

int nvjpegDecodeBatchedInitialize(void*, void* state, int batch, int, int format) {
  if (const int status = wanted("nvjpegDecodeBatchedInitialize")) return status;
  if (format != 5) return invalid_parameter;
  static_cast<State*>(state)->batch = batch;
  count(&Calls::initialisations);
  return success;
}

int nvjpegDecodeBatched(void*, void* of_state, const unsigned char* const* data,
                        const std::size_t* lengths, Image* to, void* stream) {
  auto& state = *static_cast<State*>(of_state);
  if (state.batch == 0) return not_initialized;
  const int pictures = state.batch;
  if (state.at_work->load() != 0) count(&Calls::overlaps);
  int status = wanted("nvjpegDecodeBatched");
  for (int i = 0; i < pictures && status == success; ++i) {
    Decoder decoder;
    if (!decoder.open(data[i], lengths[i]) || is_refused(decoder.info.image_width))
      status = bad_jpeg;
  }
  if (status != success) {
    state.batch = 0;  // has to be prepared anew
    return status;
  }
  for (int i = 0; i < pictures; ++i) {
    ++*state.at_work;
    queue(stream, [file = data[i], length = lengths[i], image = to[i], at_work = state.at_work] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay()));
      Decoder decoder;
      if (decoder.open(file, length)) decoder.decode(image);
      --*at_work;
    });
  }
  count(&Calls::decodes, pictures);
  count(&Calls::batches);
  return success;
}

}  // extern "C"
