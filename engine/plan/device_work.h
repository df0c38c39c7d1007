#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/engine/tensor/device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// What a sample operation leaves to be done for a whole batch at once, where the batch is
/// delivered: before all batch operations, in their thread and on their stream. Its samples say
/// what is to be done in fields that stay on the host (FieldSpec::on_host); rows without a sample
/// hold zeros there. It must be the last sample operation: those behind it would find nothing.
struct DeviceWork {
  using Run = std::function<void(Batch&, Stream)>;

  Device device;                    ///< where the batches must be delivered
  std::vector<std::string> fields;  ///< that it reads on the host
  /// Bytes of the device that it takes for batches of so many rows, for the forecast.
  std::function<std::size_t(std::int64_t rows)> device_bytes;
  std::function<std::string()> describe;  ///< for the graph: what does it
  /// Takes what one loader needs, with its first epoch; what it returns is called batch by batch by
  /// one thread at a time, and dies with the loader.
  std::function<Run(std::int64_t rows)> begin;
};

}  // namespace headrace::inline v1
