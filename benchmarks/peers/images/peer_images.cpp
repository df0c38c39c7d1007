// Headrace's rows of the table, and the limit: the same work in bare threads.
#include <headrace/benchmarks/loader/bare.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/benchmarks/peers/images/packed.h>
#include <headrace/benchmarks/peers/images/serve.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

using namespace headrace;
using namespace headrace::bench;

namespace {

/// Where the pictures of a variant come from.
std::shared_ptr<const Source> source_of(const Request& request) {
  if (request.variant == "packed") return packed_images(request.data, request.cache, false);
  if (request.variant == "crop-indexed") return packed_images(request.data, request.cache, true);
  return std::make_shared<const ImageFolder>(request.data);
}

DecodeImage operation_of(const Request& request) {
  DecodeImage decode = decode_224();
  if (request.variant.ends_with("plain")) decode.resample = Resample::bilinear;
  return decode;
}

int through_pipeline(const Request& request, const std::shared_ptr<const Source>& source) {
  Loader loader =
      Pipeline::from(source)
          .order(Shuffled{.seed = order_seed, .epoch_size = request.batches * request.batch})
          .then(operation_of(request))
          .batch({.size = request.batch})
          .build({.join_epochs = false, .runtime = Runtime({.threads = request.threads})});
  std::int64_t number = 0;
  return serve(request, [&](const OnBatch& arrived) {
    for (Batch& batch : loader.epoch(number++)) {
      batch = Batch();
      arrived();
    }
  });
}

/// The same reader, decoder and rows of the same ring, but no pipeline: threads take the next place
/// of the order. A batch has arrived when as many pictures are done.
int in_bare_threads(const Request& request, const std::shared_ptr<const Source>& source) {
  const DecodeImage decode = operation_of(request);
  const Ring slabs(decode.schema(source->fields()), request.batch, ring);
  const std::int64_t n = request.batches * request.batch;
  const auto order = Shuffled{.seed = order_seed, .epoch_size = n}.bind(source->size());
  std::int64_t number = 0;
  return serve(request, [&](const OnBatch& arrived) {
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> done{0};
    std::mutex telling;
    in_threads(request.threads, [&](int) {
      Sample sample;
      for (;;) {
        const std::int64_t at = next.fetch_add(1, std::memory_order_relaxed);
        if (at >= n) return;
        std::int64_t index = 0;
        order->indices(number, at, std::span(&index, 1));
        slabs.bind(sample, at / request.batch, at % request.batch);
        source->read(index, sample);
        Random random({.seed = order_seed, .epoch = number, .position = at});
        decode(sample, random);
        if ((done.fetch_add(1, std::memory_order_relaxed) + 1) % request.batch != 0) continue;
        std::lock_guard lock(telling);
        arrived();
      }
    });
    ++number;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const Request request(argc, argv);
  try {
    const auto source = source_of(request);
    return request.variant.starts_with("bare") ? in_bare_threads(request, source)
                                               : through_pipeline(request, source);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
