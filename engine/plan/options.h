#pragma once

#include <headrace/engine/base/log.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/runtime/watchdog.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1 {

/// What happens to the samples at the end of an epoch that do not fill a batch.
enum class Tail : unsigned char {
  /// Delivered as a shorter batch (over ranks: shared out, so every rank gets the same number of
  /// batches).
  shorter,
  drop,  ///< left out
  /// Delivered as a full batch; bool field "valid" [rows] says which rows are samples, the others
  /// are zero.
  pad,
};

/// How samples become batches.
struct Batching {
  std::int64_t size = 0;  ///< rows of a batch over all ranks together
  Tail tail = Tail::shorter;
};

/// This process's share of every batch: rows [rank, rank + 1) * size / world.
struct Ranks {
  int rank = 0;
  int world = 1;
};

/// What to do with a sample that cannot be read or decoded.
struct BadSamples {
  enum class Rule : unsigned char {
    fail,     ///< the epoch ends with a DataError
    replace,  ///< by another record, a function of seed, epoch, position and attempt
    shrink,   ///< the row is zero (or the fill) and its "valid" is false
  };

  Rule rule = Rule::fail;
  /// More bad samples in delivered batches than this end the run with a PipelineError; < 0: no
  /// limit.
  std::int64_t most = -1;
  double most_share = 1.0;  ///< likewise, as a share of an epoch's samples, in one pass over it
  int attempts = 16;        ///< replacements tried for one row
  /// bad_samples.jsonl: one line for every case; empty: each is a warning to LoaderOptions::log.
  std::filesystem::path log{};
  /// What a configuration calls these ("data.bad_samples"), for messages; empty: their names here.
  std::string setting{};
};

/// Sizes and limits of one loader; what they come to is in Loader::forecast().
struct LoaderOptions {
  int prefetch = 4;  ///< batches made ready ahead of the trainer; below 3 one slow sample is felt
  int loans = 1;     ///< batches that the trainer may hold at once
  std::size_t host_memory = 0;  ///< bytes that this loader may take; 0: only the runtime's limit
  /// Bytes of samples between read and collate; 0: from the source's estimates.
  std::size_t sample_memory = 0;
  bool fuse = true;  ///< neighbouring steps without a limit share a node
  /// The next epoch's first batches are prepared while this one is finished.
  bool join_epochs = true;
  bool statistics = true;            ///< times of stages, waits and copies; counts are always kept
  WatchdogOptions watchdog{};        ///< a stage that never returns; default: nobody looks
  std::optional<Runtime> runtime{};  ///< default: Runtime::process_default()
  LogCallback log{};                 ///< the graph as built, and warnings; on the thread that asks
};

}  // namespace headrace::inline v1
