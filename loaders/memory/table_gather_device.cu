#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>
#include <headrace/loaders/memory/internal/table_gather.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned words_of_thread = 4;
constexpr unsigned words_of_block = threads * words_of_thread;
constexpr int most_columns = 64;  // of a launch: what its arguments hold

/// A column in words of its own size.
struct Column {
  const std::byte* table;
  std::byte* out;
  unsigned words;        ///< of a row
  unsigned log2_word;    ///< of a word's bytes
  unsigned first_block;  ///< of the launch
  unsigned copied;       ///< words of all rows
};

/// Rows and columns that one launch copies, by value to the kernel.
struct Part {
  const std::int64_t* rows;
  const bool* valid;
  std::int64_t table_rows;
  int count;  ///< of columns
  Column columns[most_columns];
};

/// Some words a thread: neighbours read and write side by side, and each thread's loads are on
/// their way at once. Nothing is divided for a word.
template <class Word>
__device__ void copy_words(const Part& part, const Column& column, unsigned block) {
  const auto* table = reinterpret_cast<const Word*>(column.table);
  auto* out = reinterpret_cast<Word*>(column.out);
  const unsigned begin = block * words_of_block + threadIdx.x;
  const unsigned rows_on = threads / column.words;
  const unsigned words_on = threads - rows_on * column.words;
  unsigned row = begin / column.words;
  unsigned word = begin - row * column.words;
  Word copied[words_of_thread] = {};
#pragma unroll
  for (unsigned i = 0; i < words_of_thread; ++i) {
    if (begin + i * threads < column.copied) {
      const std::int64_t from = part.rows[row];
      const bool valid = part.valid == nullptr || part.valid[row];
      if (valid && from >= 0 && from < part.table_rows)
        copied[i] = table[from * column.words + word];
    }
    row += rows_on;
    word += words_on;
    if (word >= column.words) {
      word -= column.words;
      ++row;
    }
  }
#pragma unroll
  for (unsigned i = 0; i < words_of_thread; ++i)
    if (begin + i * threads < column.copied) out[begin + i * threads] = copied[i];
}

/// All columns of a table: each block belongs to one of them.
__global__ void __launch_bounds__(threads) gather_columns(const __grid_constant__ Part part) {
  int at = 0;
  for (int low = 1, high = part.count; low < high;) {  // the last whose blocks have begun
    const int middle = (low + high) / 2;
    if (part.columns[middle].first_block <= blockIdx.x) {
      at = middle;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const Column& column = part.columns[at];
  const unsigned block = blockIdx.x - column.first_block;
  switch (column.log2_word) {
    case 4:
      return copy_words<uint4>(part, column, block);
    case 3:
      return copy_words<uint2>(part, column, block);
    case 2:
      return copy_words<unsigned>(part, column, block);
    case 1:
      return copy_words<unsigned short>(part, column, block);
    default:
      return copy_words<unsigned char>(part, column, block);
  }
}

/// The widest word that divides a row.
unsigned log2_word_of(std::size_t row_bytes) {
  unsigned log2 = 4;
  while (row_bytes % (std::size_t{1} << log2) != 0)
    --log2;
  return log2;
}

/// Launches one part: `count` rows from `first` on, of columns that are not empty.
cudaError_t launch(const TableGather& task, const GatherColumn* columns, int count,
                   std::int64_t first, std::int64_t rows, cudaStream_t stream) {
  Part part{task.rows + first,
            task.valid == nullptr ? nullptr : task.valid + first,
            task.table_rows,
            0,
            {}};
  unsigned blocks = 0;
  for (int i = 0; i < count; ++i) {
    const GatherColumn& from = columns[i];
    if (from.row_bytes == 0) continue;
    const unsigned log2 = log2_word_of(from.row_bytes);
    const auto words = static_cast<unsigned>(from.row_bytes >> log2);
    const auto copied = static_cast<unsigned>(rows * words);
    part.columns[part.count++] = {
        from.table, from.out + static_cast<std::size_t>(first) * from.row_bytes,
        words,      log2,
        blocks,     copied};
    blocks += (copied + words_of_block - 1) / words_of_block;
  }
  if (blocks == 0) return cudaSuccess;
  return launch_grid(gather_columns, {blocks, threads, stream}, part);
}

/// One launch, unless there are more columns than its arguments hold, or rows of so many words that
/// a kernel could not count them in 32 bits, its last step included.
int gather(const TableGather& task, cudaStream_t stream) {
  constexpr std::int64_t most_words = std::int64_t{1} << 31;
  std::int64_t widest = 1;
  for (int i = 0; i < task.column_count; ++i) {
    const std::size_t bytes = task.columns[i].row_bytes;
    if (bytes > 0)
      widest = std::max(widest, static_cast<std::int64_t>(bytes >> log2_word_of(bytes)));
  }
  const std::int64_t most_rows = std::max<std::int64_t>(most_words / widest, 1);
  for (std::int64_t first = 0; first < task.count; first += most_rows) {
    const std::int64_t rows = std::min(most_rows, task.count - first);
    for (int column = 0; column < task.column_count; column += most_columns) {
      const int count = std::min(most_columns, task.column_count - column);
      const cudaError_t status = launch(task, task.columns + column, count, first, rows, stream);
      if (status != cudaSuccess) return status;
    }
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_gather(const void* task, void* stream) {
  using headrace::detail::TableGather;
  return headrace::detail::gather(*static_cast<const TableGather*>(task),
                                  static_cast<cudaStream_t>(stream));
}
