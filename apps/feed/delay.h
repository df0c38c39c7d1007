#pragma once

#include <headrace/apps/config/units.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/sample/source.h>

#include <chrono>
#include <memory>

namespace headrace::inline v1::app {

/// A configuration's duration as the steps below take it.
std::chrono::nanoseconds nanoseconds(Duration duration);

/// Lets this much time pass: asleep where that is precise enough, else on the processor.
void pass_time(std::chrono::nanoseconds time);

/// Slowness planted into the stage "decode": each sample takes at least `time` longer.
struct DecodeDelay {
  static constexpr bool decodes = true;
  std::chrono::nanoseconds time;
  std::string name() const { return "decode delay"; }
  void operator()(Sample&) const { pass_time(time); }
};

/// The same for the stage "augment".
struct AugmentDelay {
  std::chrono::nanoseconds time;
  std::string name() const { return "augment delay"; }
  void operator()(Sample&) const { pass_time(time); }
};

/// The same for the stage "transfer", each batch.
struct TransferDelay {
  std::chrono::nanoseconds time;
  std::string name() const { return "transfer delay"; }
  void operator()(Batch&) const { pass_time(time); }
};

/// A source whose reading takes `time` longer for every record, on the I/O threads.
std::shared_ptr<const Source> with_read_delay(std::shared_ptr<const Source> source,
                                              std::chrono::nanoseconds time);

}  // namespace headrace::inline v1::app
