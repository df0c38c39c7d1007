#pragma once

#include <headrace/tests/engine/test_sources.h>

#include "cuda_stand_in.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace headrace::test {

/// A step that leaves its work to the device: a sample only notes its bytes on the host and that it
/// is there, and work on the stream turns them round and writes them to the field "value", late.
struct LeavesWork {
  int delay_us = 0;
  std::int64_t fails_at = -1;  ///< number of the batch whose work fails, with some of it queued
  std::size_t device_bytes = 0;
  Device device = Device::cuda(0);
  std::shared_ptr<std::atomic<int>> alive = std::make_shared<std::atomic<int>>(0);

  std::string name() const { return "leaves"; }
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::on_host("note", DType::uint8, Shape{TableSource::width}));
    out.put(FieldSpec::on_host("there", DType::boolean, Shape{}));
    return out;
  }
  void operator()(Sample& sample) const {
    const Tensor value = sample["value"];
    std::memcpy(sample.make("note", DType::uint8, value.shape()).raw(), value.raw(), value.bytes());
    sample.set_scalar("there", true);
    std::memset(sample.make("value", DType::uint8, value.shape()).raw(), 0x77, value.bytes());
  }
  std::optional<DeviceWork> device_work() const {
    return DeviceWork{.device = device,
                      .fields = {"note", "there"},
                      .device_bytes = [bytes = device_bytes](std::int64_t) { return bytes; },
                      .describe = [] { return std::string("a stand-in"); },
                      .begin = [step = *this](std::int64_t) { return step.begin(); }};
  }

 private:
  DeviceWork::Run begin() const {
    ++*alive;
    const std::shared_ptr<void> life(nullptr, [alive = alive](void*) { --*alive; });
    return [life, step = *this](Batch& batch, Stream stream) {
      const Tensor note = batch.on_host("note");
      const Tensor there = batch.on_host("there");
      device::run_on(stream, [from = note.data<std::uint8_t>(), there = there.data<bool>(),
                              to = batch["value"].data<std::uint8_t>(), rows = batch.size(),
                              delay_us = step.delay_us] {
        std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
        for (std::int64_t i = 0; i < rows * TableSource::width; ++i)
          if (there[i / TableSource::width]) to[i] = static_cast<std::uint8_t>(~from[i]);
      });
      if (batch.number() == step.fails_at) throw std::runtime_error("the work fails");
    };
  }
};

/// A step that stands around another one and does not pass its work on.
struct Wraps {
  LeavesWork inner;
  Schema schema(const Schema& in) const { return inner.schema(in); }
  void operator()(Sample& sample) const { inner(sample); }
};

}  // namespace headrace::test
