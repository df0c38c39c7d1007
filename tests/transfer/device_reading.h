#pragma once

#include <headrace/tests/engine/test_sources.h>

#include "cuda_stand_in.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headrace::test {

using device::TrainerStream;

inline Pipeline recipe(Device to, std::int64_t records = 210) {
  return work_on(table({.records = records}), true).batch({.size = 8}).to(to);
}

inline Loader loader_on(Device to, int threads, LoaderOptions options = {}) {
  options.runtime = Runtime({.threads = threads});
  return recipe(to).build(std::move(options));
}

/// Reads a field as a kernel would: on the stream, some time after it was asked for.
inline void read_on(TrainerStream& stream, const Tensor& field, std::string& into,
                    int delay_us = 0) {
  stream.run(
      [data = static_cast<const char*>(field.raw()), bytes = field.bytes(), &into, delay_us] {
        std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
        into.append(data, bytes);
      });
}

/// All bytes of some epochs, read on the stream; batches are dropped before they have been read.
inline std::vector<std::string> read_through(Loader& loader, TrainerStream& stream, int epochs,
                                             int delay_us) {
  std::vector<std::string> batches;
  batches.reserve(4096);
  struct Finished {  // what is queued writes to the strings, also when the loader fails
    TrainerStream& stream;
    ~Finished() { stream.finish(); }
  };
  const Finished at_the_end{stream};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (Batch& batch : loader.epoch(epoch, stream)) {
      std::string& into = batches.emplace_back();
      for (const std::string& name : batch.names())
        read_on(stream, batch[name], into, delay_us);
    }
  }
  stream.finish();
  return batches;
}

/// The batch's last reference dies in a callback of the driver, behind what the stream has to do.
inline void drop_in_a_callback(TrainerStream& stream, Batch batch) {
  stream.call([held = std::make_shared<Batch>(std::move(batch))] { *held = Batch(); });
}

inline std::vector<std::string> on_host(int epochs) {
  Loader loader = loader_on(Device::cpu(), 2);
  std::vector<std::string> batches;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      batches.push_back(fields_of(batch));
    }
  }
  return batches;
}

}  // namespace headrace::test
