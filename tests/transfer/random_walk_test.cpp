// Walks of a trainer and a device that are drawn at random: orders of events that nobody thought
// of. HEADRACE_WALKS=FIRST-LAST names other seeds than the usual ones.
#include <headrace/tests/engine/test_support.h>

#include "device_reading.h"
#include "leaves_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

constexpr std::int64_t batch_size = 8;
constexpr auto patience = sanitized ? 240s : 60s;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return below(count) == 0; }

 private:
  std::mt19937 engine_;
};

/// A batch step: turns bits on the device, may keep the batch, may fail with its kernel queued.
struct TurnsBits {
  static constexpr std::uint8_t bits = 0x5A;
  std::shared_ptr<Batch> kept;
  std::shared_ptr<std::atomic<int>> batches_to_failure;

  void operator()(Batch& batch, Stream stream) const {
    const Tensor value = batch["value"];
    device::run_on(stream, [out = value.data<std::uint8_t>(), count = value.elements()] {
      for (std::int64_t i = 0; i < count; ++i)
        out[i] ^= bits;
    });
    if (kept) *kept = batch;
    if (batches_to_failure->fetch_sub(1) == 0) throw DataError("the step fails");
  }
};

device::Behaviour draw_device(Dice& dice) {
  const char* const calls[] = {"EventRecord",
                               "StreamWaitEvent",
                               "LaunchHostFunc",
                               "MemcpyAsync",
                               "EventCreateWithFlags",
                               "StreamIsCapturing",
                               "ThreadExchangeStreamCaptureMode"};
  device::Behaviour behaviour{.refuse_page_locks = dice.one_in(4),
                              .copy_delay_us = dice.one_in(2) ? 0 : 300};
  if (dice.one_in(3)) return behaviour;
  behaviour.refuse = std::string("cuda") + calls[dice.below(std::size(calls))];
  behaviour.refuse_after = 20 + dice.below(400);
  behaviour.refuse_times = 1 + dice.below(3);
  return behaviour;
}

/// Records of which one may be bad, always or the first time it is read.
std::shared_ptr<TableSource> draw_source(Dice& dice) {
  TableOptions options{.records = batch_size * (1 + dice.below(6)),
                       .gathers = dice.one_in(5),
                       .blocking = dice.one_in(2)};
  if (dice.one_in(2)) options.records += 3;
  if (dice.one_in(2)) return table(options);
  const std::int64_t bad = dice.below(static_cast<int>(options.records));
  const bool always = dice.one_in(2);
  const auto failed = std::make_shared<std::atomic<bool>>(false);
  return table(options, [bad, always, failed](std::int64_t index) {
    if (index == bad && (!failed->exchange(true) || always)) throw DataError("a bad record");
  });
}

TurnsBits draw_step(Dice& dice) {
  return {.kept = dice.one_in(4) ? std::make_shared<Batch>() : nullptr,
          .batches_to_failure =
              std::make_shared<std::atomic<int>>(dice.one_in(3) ? dice.below(20) : -1)};
}

/// What is done to a sample: nothing, or the same by workers and by the device.
enum class Decodes : unsigned char { nobody, workers, device };

Pipeline with_samples(Dice& dice, std::shared_ptr<const Source> source, Decodes decodes) {
  if (decodes == Decodes::workers) return work_on(std::move(source), false);
  Pipeline rows = rows_of_source(std::move(source));
  if (decodes == Decodes::nobody) return rows;
  return std::move(rows).then(LeavesWork{.delay_us = dice.below(300)});
}

Pipeline draw_pipeline(Dice& dice, Decodes decodes, const TurnsBits& step) {
  const auto source = draw_source(dice);
  const BadSamples bad{.rule = static_cast<BadSamples::Rule>(dice.below(3)),
                       .most = dice.one_in(3) ? dice.below(3) : -1};
  return with_samples(dice, source, decodes)
      .batch({.size = batch_size, .tail = static_cast<Tail>(dice.below(3))})
      .on_bad_sample(bad)
      .to(Device::cuda(0))
      .then(step);
}

LoaderOptions draw_options(Dice& dice) {
  return {.prefetch = 1 + dice.below(4),
          .loans = 1 + dice.below(2),
          .fuse = dice.one_in(2),
          .join_epochs = !dice.one_in(3),
          .runtime = Runtime({.threads = 1 + dice.below(3), .io_threads = 1 + dice.below(2)})};
}

/// What a stream of the trainer's read of a batch.
struct Reading {
  bool decoded = false;
  std::string index{};
  std::string value{};
  std::string valid{};

  /// Whether every row is its record's or, where it is no sample, zero.
  bool is_right() const {
    for (std::size_t row = 0; row * sizeof(std::int64_t) < index.size(); ++row) {
      std::int64_t record = 0;
      std::memcpy(&record, index.data() + row * sizeof record, sizeof record);
      const bool sample = valid.empty() || valid[row] != 0;
      const int turned = sample && decoded ? 0xFF ^ TurnsBits::bits : TurnsBits::bits;
      std::string expected;
      for (int k = 0; k < TableSource::width; ++k)
        expected += static_cast<char>((sample ? TableSource::value_at(record, k) : 0) ^ turned);
      if (value.compare(row * expected.size(), expected.size(), expected) != 0) return false;
    }
    return true;
  }
};

class Trainer {
 public:
  explicit Trainer(Dice dice) : dice_(std::move(dice)) {}
  const std::string& log() const { return log_; }
  /// Whether a batch died in a callback: its memory stays taken.
  bool lost_memory() const { return lost_memory_; }
  const std::deque<Reading>& readings() const { return readings_; }
  void walk() {
    for (int step = 0; step < 60 && goes_on_; ++step) {
      try {
        act();
      } catch (const DataError& error) {
        note(error);
      } catch (const DeviceError& error) {
        note(error);
      } catch (const PipelineError& error) {
        note(error);
      }
    }
    end();
  }

 private:
  void act() {
    static constexpr void (Trainer::*rare[])() = {
        &Trainer::leave_epoch, &Trainer::begin_epoch,        &Trainer::drop_on_another_thread,
        &Trainer::pause,       &Trainer::lose_in_a_callback, &Trainer::read_once_more};
    if (!loader_) return static_cast<void>(loader_.emplace(pipeline_.build(options_)));
    if (!epoch_) return begin_epoch();
    const auto drawn = static_cast<std::size_t>(dice_.below(20));
    if (drawn < std::size(rare)) return (this->*rare[drawn])();
    take_batch();
  }
  void note(const Error& error) {
    const std::string said = error.what();
    log_ += "error ";
    if (said.find("build the loader anew") != said.npos) goes_on_ = false;
    // Other threads may have batches that they are about to drop.
    if (said.find("are on loan") != said.npos) std::this_thread::sleep_for(5ms);
  }
  void begin_epoch() {
    log_ += "epoch ";
    std::optional<Epoch> before = std::exchange(epoch_, std::nullopt);
    if (dice_.one_in(2)) before.reset();
    stream_ = dice_.one_in(2) ? &first_ : &second_;
    epoch_.emplace(loader_->epoch(number_, *stream_));
    number_ += dice_.below(2);
  }
  void leave_epoch() {
    log_ += "leave ";
    epoch_.reset();
  }
  void drop_on_another_thread() {
    log_ += "thread ";
    const std::chrono::microseconds late(dice_.below(500));
    threads_.emplace_back([batches = std::exchange(held_, {}), late]() mutable {
      std::this_thread::sleep_for(late);
      batches.clear();
    });
  }
  void lose_in_a_callback() {
    if (held_.empty() || !in_callbacks_) return;
    log_ += "callback ";
    lost_memory_ = true;
    drop_in_a_callback(first_, std::move(held_.front()));
    held_.pop_front();
  }
  void pause() { std::this_thread::sleep_for(std::chrono::microseconds(dice_.below(2000))); }
  void read_once_more() {
    if (held_.empty()) return;
    log_ += "again ";
    held_.front().also_used_on(second_);
    read(held_.front(), second_);
  }
  void take_batch() {
    log_ += "next ";
    while (held_.size() >= static_cast<std::size_t>(options_.loans))
      held_.pop_front();
    NextBatch got = loader_->next(patience);
    goes_on_ = got.status != NextBatch::Status::timeout;
    CHECK_MESSAGE(goes_on_, "next() hangs");
    if (!got.batch) return;
    read(got.batch, *stream_);
    held_.push_back(std::move(got.batch));
  }
  void read(const Batch& batch, TrainerStream& stream) {
    Reading& into = readings_.emplace_back(Reading{.decoded = decodes_ != Decodes::nobody});
    read_on(stream, batch["index"], into.index);
    read_on(stream, batch["value"], into.value, dice_.below(200));
    if (batch.has("valid")) read_on(stream, batch["valid"], into.valid);
  }
  void end() {
    log_ += "end ";
    if (dice_.one_in(2)) epoch_.reset();
    if (dice_.one_in(2)) held_.clear();
    loader_.reset();
    epoch_.reset();
    lose_in_a_callback();
    threads_.clear();
    if (step_.kept) *step_.kept = Batch();
    held_.clear();
    first_.finish();
    second_.finish();
  }

  Dice dice_;
  const Decodes decodes_ = static_cast<Decodes>(dice_.below(3));
  const bool in_callbacks_ = dice_.one_in(3);
  const LoaderOptions options_ = draw_options(dice_);
  std::string log_;
  std::deque<Reading> readings_;
  bool lost_memory_ = false;
  bool goes_on_ = true;
  TrainerStream first_;
  TrainerStream second_;
  TrainerStream* stream_ = nullptr;
  const TurnsBits step_ = draw_step(dice_);
  const Pipeline pipeline_ = draw_pipeline(dice_, decodes_, step_);
  std::int64_t number_ = 0;
  std::deque<Batch> held_;
  std::optional<Loader> loader_;
  std::optional<Epoch> epoch_;
  std::vector<std::jthread> threads_;
};

/// How many batches were read.
std::size_t walk(unsigned seed) {
  const Watchdog watchdog("the walk of seed " + std::to_string(seed));
  Dice dice(seed);
  const device::Behaviour behaviour = draw_device(dice);
  device::reset(behaviour);
  const device::Calls before = device::calls();
  Trainer trainer(dice);
  CAPTURE(seed);
  CAPTURE(behaviour.refuse);
  CAPTURE(trainer.log());
  trainer.walk();
  CHECK(eventually([] { return device::calls().copies_done == device::calls().copies; }));
  CHECK(device::calls().torn_copies == 0);
  CHECK(std::ranges::all_of(trainer.readings(), &Reading::is_right));
  if (!behaviour.refuse.empty() || trainer.lost_memory()) return trainer.readings().size();
  CHECK(eventually([&] { return device::calls().live_streams == before.live_streams; }));
  CHECK(device::calls().live_allocations == before.live_allocations);
  CHECK(device::calls().live_events == before.live_events);
  CHECK(device::calls().page_locks == before.page_locks);
  return trainer.readings().size();
}

TEST_CASE("Whatever a trainer and a device do, epochs end and every delivered byte is right") {
  const char* named = std::getenv("HEADRACE_WALKS");
  std::istringstream seeds(named != nullptr ? named : sanitized ? "1-25" : "1-150");
  unsigned first = 0;
  unsigned last = 0;
  (seeds >> first).ignore() >> last;
  REQUIRE(!seeds.fail());
  std::size_t batches = 0;
  for (unsigned seed = first; seed <= last; ++seed)
    batches += walk(seed);
  CHECK(batches > 0);
}

}  // namespace
}  // namespace headrace::test
