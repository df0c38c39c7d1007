#include <headrace/benchmarks/loader/bare.h>
#include <headrace/benchmarks/loader/workload.h>

#include <atomic>
#include <memory>
#include <utility>

namespace headrace::inline v1::bench {

Shuffled passes(const Source& source) {
  return {.seed = order_seed, .epoch_size = 4 * source.size()};
}

std::function<double()> through_loader(Pipeline pipeline, LoaderOptions options) {
  if (!options.runtime) options.runtime = Runtime({.threads = threads});
  options.join_epochs = false;
  auto loader = std::make_shared<Loader>(pipeline.build(options));
  auto epoch = std::make_shared<std::int64_t>(0);
  return [loader, epoch] {
    double rows = 0;
    for (Batch& batch : loader->epoch((*epoch)++))
      rows += static_cast<double>(batch.size());
    return rows;
  };
}

std::function<double()> bare_rows(std::shared_ptr<const Source> source, std::int64_t batch,
                                  std::int64_t block, int workers) {
  auto slabs = std::make_shared<Ring>(source->fields(), batch, ring);
  auto order = passes(*source).bind(source->size());
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=] {
    const std::int64_t n = order->length();
    std::atomic<std::int64_t> next{0};
    in_threads(workers, [&](int) {
      std::vector<std::int64_t> indices;
      std::vector<Rows::Column> columns;
      for (;;) {
        const std::int64_t first = next.fetch_add(block, std::memory_order_relaxed);
        if (first >= n) return;
        const std::int64_t in_batch = first % batch;
        const std::int64_t count = std::min({block, n - first, batch - in_batch});
        indices.resize(static_cast<std::size_t>(count));
        order->indices(*epoch, first, indices);
        columns.clear();
        for (const auto& field : slabs->layout.fields()) {
          columns.push_back({slabs->layout.cell(slabs->slab(first / batch), field.values, in_batch),
                             slabs->layout.columns()[field.values].row_bytes});
        }
        source->gather(indices, Rows(columns, count));
      }
    });
    ++*epoch;
    return static_cast<double>(n);
  };
}

std::function<double()> bare_pictures(std::shared_ptr<const ImageFolder> source, std::int64_t batch,
                                      int workers) {
  const DecodeImage decode = decode_224();
  auto slabs = std::make_shared<Ring>(decode.schema(source->fields()), batch, ring);
  auto order = passes(*source).bind(source->size());
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=] {
    const std::int64_t n = order->length();
    std::atomic<std::int64_t> next{0};
    in_threads(workers, [&](int) {
      Sample sample;
      for (;;) {
        const std::int64_t at = next.fetch_add(1, std::memory_order_relaxed);
        if (at >= n) return;
        std::int64_t index = 0;
        order->indices(*epoch, at, std::span(&index, 1));
        slabs->bind(sample, at / batch, at % batch);
        source->read(index, sample);
        Random random({.seed = order_seed, .epoch = *epoch, .position = at});
        decode(sample, random);
      }
    });
    ++*epoch;
    return static_cast<double>(n);
  };
}

}  // namespace headrace::inline v1::bench
