#include <algorithm>

#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>
#include <headrace/loaders/memory/detail/table_gather.h>

namespace headrace::inline v1::detail {
namespace {

constexpr unsigned threads = 256;

/// A part of the rows that one launch copies, in words of a row.
struct Part {
  const std::int64_t* rows;
  const bool* valid;
  unsigned words;   ///< of a row
  unsigned copied;  ///< words of all rows
};

/// One thread a word: neighbours read and write side by side.
template <class Word>
__global__ void __launch_bounds__(threads)
    gather_words(const Word* table, std::int64_t table_rows, Part part, Word* out) {
  const unsigned step = blockDim.x * gridDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < part.copied; i += step) {
    const unsigned k = i / part.words;
    const std::int64_t row = part.rows[k];
    const bool present = (part.valid == nullptr || part.valid[k]) && row >= 0 && row < table_rows;
    out[i] = present ? table[row * part.words + (i - k * part.words)] : Word{};
  }
}

/// Launches for parts whose words a kernel counts in 32 bits, its last step included.
template <class Word>
void launch(const TableGather& task, cudaStream_t stream) {
  constexpr std::int64_t most_words = std::int64_t{1} << 31;
  const auto words = static_cast<std::int64_t>(task.row_bytes / sizeof(Word));
  const std::int64_t most_rows = std::max<std::int64_t>(most_words / words, 1);
  for (std::int64_t first = 0; first < task.count; first += most_rows) {
    const std::int64_t rows = std::min(most_rows, task.count - first);
    const Part part{task.rows + first, task.valid == nullptr ? nullptr : task.valid + first,
                    static_cast<unsigned>(words), static_cast<unsigned>(rows * words)};
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((rows * words + threads - 1) / threads, std::int64_t{1} << 20));
    launch_grid(gather_words<Word>, {blocks, threads, stream},
                reinterpret_cast<const Word*>(task.table), task.table_rows, part,
                reinterpret_cast<Word*>(task.out) + first * words);
  }
}

int gather(const TableGather& task, cudaStream_t stream) {
  if (task.count == 0 || task.row_bytes == 0) return cudaSuccess;
  if (task.row_bytes % sizeof(uint4) == 0) {
    launch<uint4>(task, stream);
  } else if (task.row_bytes % sizeof(uint2) == 0) {
    launch<uint2>(task, stream);
  } else if (task.row_bytes % sizeof(unsigned) == 0) {
    launch<unsigned>(task, stream);
  } else if (task.row_bytes % sizeof(unsigned short) == 0) {
    launch<unsigned short>(task, stream);
  } else {
    launch<unsigned char>(task, stream);
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_gather(const void* task, void* stream) {
  using headrace::detail::TableGather;
  return headrace::detail::gather(*static_cast<const TableGather*>(task),
                                  static_cast<cudaStream_t>(stream));
}
