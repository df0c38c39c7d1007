#pragma once

#include <headrace/apps/view/step_range.h>
#include <headrace/apps/view/trainer_track.h>
#include <headrace/engine/runtime/tracing.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// Traces a range of the steps of the first stage that is trained, and writes it. Used by the
/// thread that trains. What goes wrong is said and ends the trace, not the run.
class StepTrace {
 public:
  using Say = std::function<void(const std::string&)>;

  StepTrace(StepRange range, Runtime runtime, std::filesystem::path file, Say say);

  /// The stage begins.
  void begin();
  /// A step was told of, and what was told of in between.
  void on_step(const StepFacts& step);
  void on_train_epoch_end();
  void on_phase(const std::string& name, std::int64_t epoch);
  /// The stage has ended.
  void end();

 private:
  enum class State : unsigned char { waits, on, done };

  void start();
  void finish();

  StepRange range_;
  Runtime runtime_;
  std::filesystem::path file_;
  Say say_;
  State state_ = State::waits;
  std::optional<Tracing> tracing_;
  TrainerTrack track_;
  std::int64_t first_ = 0;  // that was recorded
  std::int64_t last_ = 0;   // that was told of
};

}  // namespace headrace::inline v1::app
