#include <headrace/apps/view/step_trace.h>
#include <headrace/apps/view/write_run_trace.h>
#include <headrace/monitor/format.h>

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

StepTrace::StepTrace(StepRange range, Runtime runtime, std::filesystem::path file, Say say)
    : range_(range), runtime_(std::move(runtime)), file_(std::move(file)), say_(std::move(say)) {}

void StepTrace::begin() {
  if (state_ == State::waits && range_.first == 1) start();
}

void StepTrace::on_step(const StepFacts& step) {
  last_ = step.step;
  if (state_ == State::waits && step.step + 1 >= range_.first && step.step < range_.last)
    return start();
  if (state_ == State::waits && step.step >= range_.last) {
    state_ = State::done;
    say_(fmt::format("no trace: the run went on behind step {}", range_.last));
  }
  if (state_ != State::on) return;
  if (first_ == 0) first_ = step.step;
  track_.add_step(step, steady_ns());
  if (step.step >= range_.last) finish();
}

void StepTrace::on_train_epoch_end() {
  if (state_ == State::on) track_.end_steps(steady_ns());
}

void StepTrace::on_phase(const std::string& name, std::int64_t epoch) {
  if (state_ == State::on) track_.add_phase(name, epoch, steady_ns());
}

void StepTrace::end() {
  if (state_ == State::on && first_ > 0) finish();
  if (state_ != State::done)
    say_(
        fmt::format("no trace: the stage ended with step {}, before step {}", last_, range_.first));
  state_ = State::done;
  tracing_.reset();
}

void StepTrace::start() {
  state_ = State::done;
  try {
    tracing_.emplace(runtime_);
    state_ = State::on;
    say_(fmt::format("trace of steps {} to {}: takes {} for each loader", range_.first, range_.last,
                     monitor::format_bytes(trace_bytes(runtime_))));
  } catch (const std::exception& error) {
    say_(fmt::format("no trace: {}", error.what()));
  }
}

void StepTrace::finish() {
  state_ = State::done;
  try {
    say_(write_run_trace(file_, fmt::format("steps {} to {}", first_, last_), tracing_->stop(),
                         {track_.track()}));
  } catch (const std::exception& error) {
    say_(fmt::format("no trace: {}", error.what()));
  }
  tracing_.reset();
}

}  // namespace headrace::inline v1::app
