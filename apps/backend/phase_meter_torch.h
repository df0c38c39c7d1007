#pragma once

#include <headrace/apps/job/read_job.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/monitor/memory/memory_judge.h>
#include <headrace/monitor/memory/phase_memory.h>
#include <headrace/training/member_run.h>

#include <cstdint>

#include <c10/core/Device.h>

namespace headrace::inline v1::app {

class RunView;

/// Reads what LibTorch's allocator of a device counts at the ends of a run's phases, and makes its
/// peaks begin anew there: one for a run. Waits for no device. Not thread-safe.
class PhaseMeter {
 public:
  PhaseMeter(const TrainingJob& job, const Device& device);

  /// A phase begins; what was taken since the last one ended is of none.
  void begin();
  /// What the phase took that ends; the next one begins.
  monitor::PhaseMemory end();

  /// What it must fit: the process's limit, and with a GPU its memory or memory.gpu, the lesser.
  const monitor::MemoryLimits& limits() const { return limits_; }
  /// The most that was reserved, in phases and between them; bytes.
  std::uint64_t most_reserved() const;

 private:
  c10::Device device_;
  monitor::MemoryLimits limits_;
  std::uint64_t most_reserved_ = 0;  // before the peaks began anew
  std::int64_t retries_ = 0;         // likewise
};

/// Makes callbacks tell the view of each phase's memory: behind what they do at a phase's end, but
/// of an evaluation before it, so that the epoch's row has it. Meter and view outlive them.
void tell_phases(PhaseMeter& meter, RunView& view, training::MemberCallbacks& callbacks);

}  // namespace headrace::inline v1::app
