// The limits: the same work in bare threads, without a pipeline.
#include <headrace/benchmarks/peers/hdf5/peers.h>
#include <headrace/engine/batch/internal/layout.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <libdeflate.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace {

template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::jthread> crew;
  for (int t = 0; t < count; ++t)
    crew.emplace_back(work);
}

/// The slabs of the limit: same layout, same number, as the loader's.
class Ring {
 public:
  explicit Ring(const Schema& schema)
      : layout(schema, batch_rows, false),
        memory_(layout.bytes() * static_cast<std::size_t>(ring)) {}
  /// Where the rows from `first` on go; they lie in one batch.
  std::vector<Rows::Column> columns(std::int64_t first) const {
    std::byte* slab =
        memory_.data() + layout.bytes() * static_cast<std::size_t>(first / batch_rows % ring);
    std::vector<Rows::Column> columns;
    for (const auto& field : layout.fields()) {
      columns.push_back({layout.cell(slab, field.values, first % batch_rows),
                         layout.columns()[field.values].row_bytes});
    }
    return columns;
  }
  const detail::Layout layout;

 private:
  HugePages memory_;
};

/// Calls work(indices, columns) for blocks of an epoch, in threads.
template <class Work>
std::function<double()> over_blocks(const Schema& schema, Order order, int crew, std::int64_t block,
                                    Work work) {
  auto slabs = std::make_shared<Ring>(schema);
  auto epoch = std::make_shared<std::int64_t>(0);
  return [=] {
    const std::int64_t n = order->length() / batch_rows * batch_rows;
    std::atomic<std::int64_t> next{0};
    in_threads(crew, [&] {
      std::vector<std::int64_t> indices;
      for (;;) {
        const std::int64_t first = next.fetch_add(block, std::memory_order_relaxed);
        if (first >= n) return;
        indices.resize(static_cast<std::size_t>(block));
        order->indices(*epoch, first, indices);
        work(indices, slabs->columns(first));
      }
    });
    ++*epoch;
    return static_cast<double>(n);
  };
}

}  // namespace

std::function<double()> bare_rows(std::shared_ptr<const Source> source, Order order) {
  return over_blocks(
      source->fields(), std::move(order), threads, 256,
      [source](const std::vector<std::int64_t>& indices, const std::vector<Rows::Column>& columns) {
        source->gather(indices, Rows(columns, static_cast<std::int64_t>(indices.size())));
      });
}

std::function<double()> bare_preads(const DataSet& data, std::shared_ptr<const Hdf5Table> table,
                                    Order order) {
  const std::shared_ptr<int> file(new int(::open(data.file.c_str(), O_RDONLY | O_CLOEXEC)),
                                  [](const int* number) {
                                    ::close(*number);
                                    delete number;
                                  });
  const detail::Hdf5File hdf5(data.file);
  detail::ChunkIndexes none(hdf5, false);
  const auto row =
      detail::describe_dataset(hdf5, {.field = "row", .path = "row", .memory = 1_GiB}, none);
  auto labels = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(data.rows));
  hdf5.read(
      labels->data(), labels->size() * sizeof(std::int64_t),
      detail::describe_dataset(hdf5, {.field = "label", .path = "label", .memory = 1_GiB}, none)
          .offset);
  return over_blocks(
      table->fields(), std::move(order), io_threads, 1024,
      [file, labels, bytes = row.row_bytes, start = row.offset](
          const std::vector<std::int64_t>& indices, const std::vector<Rows::Column>& columns) {
        for (std::size_t k = 0; k < indices.size(); ++k) {
          const auto index = static_cast<std::size_t>(indices[k]);
          if (::pread(*file, columns[0].first + k * columns[0].stride, bytes,
                      static_cast<off_t>(start + index * bytes)) < 0) {
            throw DataError("[benchmark] pread failed");
          }
          *reinterpret_cast<std::int64_t*>(columns[1].first + k * columns[1].stride) =
              (*labels)[index];
        }
      });
}

std::function<double()> bare_chunks(const DataSet& data, std::shared_ptr<const Hdf5Table>) {
  auto file = std::make_shared<const detail::Hdf5File>(data.file);
  detail::ChunkIndexes none(*file, false);
  auto row = std::make_shared<const detail::Hdf5Dataset>(
      detail::describe_dataset(*file, {.field = "row", .path = "row", .memory = 1_GiB}, none));
  return [=, rows = data.rows] {
    std::atomic<std::size_t> next{0};
    const auto& places = row->chunks->places;
    in_threads(threads, [&] {
      std::vector<std::byte> stored(2 * row->chunk_bytes), apart(row->chunk_bytes),
          out(row->chunk_bytes);
      libdeflate_decompressor* inflate = libdeflate_alloc_decompressor();
      for (std::size_t chunk = next++; chunk < places.size(); chunk = next++) {
        file->read(stored.data(), places[chunk].bytes, places[chunk].offset);
        if (libdeflate_zlib_decompress(inflate, stored.data(), places[chunk].bytes, apart.data(),
                                       apart.size(), nullptr) != LIBDEFLATE_SUCCESS) {
          throw DataError("[benchmark] a chunk could not be inflated");
        }
        detail::unshuffle(apart, 2, out.data());
      }
      libdeflate_free_decompressor(inflate);
    });
    return static_cast<double>(rows);
  };
}

}  // namespace headrace::inline v1::bench
