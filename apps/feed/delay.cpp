#include <headrace/apps/feed/delay.h>

#include <thread>
#include <utility>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel's timers are about 60 microseconds coarse.
constexpr std::chrono::nanoseconds shortest_sleep = std::chrono::microseconds(500);

class SlowSource final : public Source {
 public:
  SlowSource(std::shared_ptr<const Source> source, std::chrono::nanoseconds time)
      : source_(std::move(source)), time_(time) {}

  std::string name() const override { return source_->name() + " with a planted delay"; }
  std::int64_t size() const override { return source_->size(); }
  Schema fields() const override { return source_->fields(); }
  void read(std::int64_t index, Sample& sample) const override {
    pass_time(time_);
    source_->read(index, sample);
  }
  bool blocking() const override { return true; }
  bool gathers() const override { return source_->gathers(); }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    pass_time(time_ * static_cast<std::int64_t>(indices.size()));
    source_->gather(indices, rows);
  }
  std::int64_t preferred_rows() const override { return source_->preferred_rows(); }
  std::size_t working_bytes(std::int64_t index) const override {
    return source_->working_bytes(index);
  }
  std::size_t largest_working_bytes() const override { return source_->largest_working_bytes(); }
  std::size_t resident_bytes() const override { return source_->resident_bytes(); }
  std::string origin(std::int64_t index) const override { return source_->origin(index); }
  std::int64_t part(std::int64_t index) const override { return source_->part(index); }

 private:
  std::shared_ptr<const Source> source_;
  std::chrono::nanoseconds time_;
};

}  // namespace

std::chrono::nanoseconds nanoseconds(Duration duration) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(duration.seconds * 1e9));
}

void pass_time(std::chrono::nanoseconds time) {
  if (time >= shortest_sleep) {
    std::this_thread::sleep_for(time);
    return;
  }
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

std::shared_ptr<const Source> with_read_delay(std::shared_ptr<const Source> source,
                                              std::chrono::nanoseconds time) {
  return std::make_shared<SlowSource>(std::move(source), time);
}

}  // namespace headrace::inline v1::app
