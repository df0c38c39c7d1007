#include <headrace/benchmarks/loader/bare.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <atomic>
#include <memory>
#include <vector>

namespace headrace::inline v1::bench {

std::function<double()> bare_chunks(const std::filesystem::path& file, int workers) {
  auto opened = std::make_shared<const detail::Hdf5File>(file);
  detail::ChunkIndexes none(*opened, false);
  auto rows = std::make_shared<const detail::Hdf5Dataset>(
      detail::describe_dataset(*opened, {.field = "row", .path = "row", .memory = 1_GiB}, none));
  return [=] {
    constexpr std::size_t passes = 4;  // as the loader's epochs have
    const std::size_t chunks = rows->chunks->places.size();
    std::atomic<std::size_t> next{0};
    in_threads(workers, [&](int) {
      detail::CodecScratch scratch;
      std::vector<std::byte> out(rows->chunk_bytes);
      for (std::size_t i = next++; i < passes * chunks; i = next++)
        detail::read_chunk(*opened, *rows, i % chunks, out, scratch);
    });
    return static_cast<double>(passes) * static_cast<double>(rows->rows);
  };
}

}  // namespace headrace::inline v1::bench
