// The module: the only code of ours that links Blosc2.
#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/blosc2_codec_abi.h>

#include <climits>
#include <cstdio>

#include <blosc2.h>

namespace {

/// Of one thread; decodes in it alone.
class Decoder {
 public:
  Decoder() {
    static const bool registered = (blosc2_init(), true);
    static_cast<void>(registered);
    blosc2_dparams settings{};
    settings.nthreads = 1;
    context_ = blosc2_create_dctx(settings);
  }
  ~Decoder() {
    if (context_ != nullptr) blosc2_free_ctx(context_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  blosc2_context* context() const { return context_; }

 private:
  blosc2_context* context_ = nullptr;
};

}  // namespace

extern "C" HEADRACE_API int headrace_decode_blosc(const uint8_t* chunk, size_t size, uint8_t* out,
                                                  size_t bytes, char* message,
                                                  size_t message_size) {
  thread_local const Decoder decoder;
  const auto refuse = [&](const char* reason) {
    std::snprintf(message, message_size, "%s", reason);
    return 1;
  };
  if (size > INT_MAX || bytes > INT_MAX) return refuse("over 2 GiB");
  if (decoder.context() == nullptr) return refuse("no memory for a decoder");
  const int got = blosc2_decompress_ctx(decoder.context(), chunk, static_cast<int32_t>(size), out,
                                        static_cast<int32_t>(bytes));
  if (got < 0) return refuse(blosc2_error_string(got));
  if (static_cast<size_t>(got) != bytes) return refuse("it decodes to another size than it says");
  return 0;
}
