#pragma once

#include <headrace/tests/engine/test_sources.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace headrace::test {

/// So long each record, or each batch of eight, takes in a stage.
struct Delays {
  std::chrono::microseconds read{0};
  std::chrono::microseconds decode{0};
  std::chrono::microseconds augment{0};
  std::chrono::microseconds batch{0};
};

inline void pause(std::chrono::microseconds time) {
  if (time.count() > 0) std::this_thread::sleep_for(time);
}

struct SlowDecode {
  static constexpr bool decodes = true;
  std::chrono::microseconds time;
  std::string name() const { return "decode"; }
  void operator()(Sample&) const { pause(time); }
};

/// Statistics of an epoch through the stages "read", "decode", "paint", "mix", on two threads.
inline LoaderStats run_with(const Delays& delays, const TableOptions& options, bool fuse) {
  Loader loader = Pipeline::from(table(options, [delays](std::int64_t) { pause(delays.read); }))
                      .then(SlowDecode{delays.decode})
                      .then([delays](Sample&) { pause(delays.augment); }, {.name = "paint"})
                      .batch({.size = 8})
                      .then([delays](Batch&) { pause(delays.batch); }, {.name = "mix"})
                      .build({.fuse = fuse, .runtime = Runtime({.threads = 2, .io_threads = 2})});
  stream_of(loader, 0, 1);
  return loader.stats();
}

}  // namespace headrace::test
