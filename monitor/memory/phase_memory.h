#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/memory/process_memory.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::monitor {

/// What a part of a run (the training of an epoch, an evaluation) took, in bytes.
struct HEADRACE_API PhaseMemory {
  std::uint64_t allocated = 0;      ///< in tensors, at its end
  std::uint64_t peak = 0;           ///< the most of `allocated` in it
  std::uint64_t reserved = 0;       ///< that the allocator of tensors holds, at its end
  std::uint64_t peak_reserved = 0;  ///< likewise the most of it
  /// Of `reserved`: free parts of pieces of which other parts are in use.
  std::uint64_t inactive_split = 0;
  std::int64_t retries = 0;      ///< times in it that the allocator gave back what it held
  bool on_gpu = false;           ///< its tensors are no part of the process
  std::uint64_t in_loaders = 0;  ///< batches and samples of loaders, at its end
  ProcessMemory process{};       ///< at its end

  /// What the process held beside tensors.
  std::uint64_t beside_tensors() const;
  /// What the process held when tensors took the most.
  std::uint64_t process_peak() const;
  /// "tensors 1.20 GiB, peak 3.41 GiB, reserved 3.60 GiB, in pieces 102 MiB, retries 0; process
  /// 5.10 GiB"; without a GPU, whose allocator alone reserves, "tensors 1.20 GiB, peak 3.41 GiB;
  /// process 5.10 GiB".
  std::string sentence() const;
};

}  // namespace headrace::inline v1::monitor
