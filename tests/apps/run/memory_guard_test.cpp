#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/measure/bench/loader_trial.h>
#include <headrace/apps/run/memory_guard.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace monitor = headrace::monitor;

using Lines = std::vector<std::string>;

app::LoaderJob small_job() {
  app::LoaderConfig config;
  config.data.rows = 4096;
  config.data.row_bytes = 64;
  config.batch = 64;
  config.threads.loader = 1;
  return app::make_loader_job(config);
}

bool says(const Lines& lines, const std::string& part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

// What a guard did and said.
class Record {
 public:
  std::function<void(const std::string&)> say() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  app::MemoryRelief relief() {
    return {.evict =
                [this](std::uint64_t bytes) {
                  add("evict");
                  return bytes;
                },
            .set_share = [this](double share) { add("share " + std::to_string(share)); },
            .set_paused = [this](bool paused) { add(paused ? "pause" : "resume"); },
            .account = [] { return std::string("  heap 1 GiB"); }};
  }
  Lines lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  Lines done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    done_.push_back(what);
  }

  mutable std::mutex mutex_;
  Lines lines_;
  Lines done_;
};

}  // namespace

TEST_CASE("a process over its limit gives up what it can, says so, and its run ends early") {
  app::StopSignals signals;
  Record record;
  app::MemoryGuard guard({.bytes = 1 << 20, .source = "configuration"}, signals, record.say(),
                         record.relief());
  headrace::Loader loader = small_job().build();
  const app::LoaderTrial trial =
      app::run_loader_trial(loader, {.step_s = 0.01, .epochs = 1000, .stop = signals.token()});
  CHECK(trial.batches < 64000 - 16);
  CHECK(guard.over());
  CHECK(record.done() == Lines{"evict", "share 0.500000", "pause", "share 0.000000", "resume"});
  const Lines lines = record.lines();
  REQUIRE(lines.size() == 5);
  for (const std::string& line : lines)
    CHECK(line.find(" of 1.00 MiB are held (configuration): ") != std::string::npos);
  CHECK(says(lines, "caches let go of "));
  CHECK(says(lines, "loaders use half of their memory"));
  CHECK(says(lines, "free parts of the heap"));
  CHECK(says(lines, "loaders begin no batch for now"));
  CHECK(lines.back().ends_with("the run is saved and ends\n  heap 1 GiB"));
  guard.watch().look();
  CHECK(record.lines().size() == 5);
  CHECK(signals.received() == 0);
  CHECK(signals.exit_code() == app::ExitCode::done);
}

TEST_CASE("a process that can give up nothing is told so once") {
  app::StopSignals signals;
  Record record;
  app::MemoryGuard guard({.bytes = 1 << 20, .source = "configuration"}, signals, record.say());
  for (int i = 0; i < 2400 && !guard.over(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(guard.over());
  CHECK(signals.token().stop_requested());
  const Lines lines = record.lines();
  CHECK(lines.size() == 2);  // free parts of the heap, and the end
  CHECK(lines.back().ends_with("the run is saved and ends"));
}

TEST_CASE("a run ends where there is no memory for words about it") {
  app::StopSignals signals;
  Record record;
  app::MemoryRelief relief = record.relief();
  relief.account = []() -> std::string { throw std::bad_alloc(); };
  app::MemoryGuard guard({.bytes = 1 << 20, .source = "configuration"}, signals, record.say(),
                         relief);
  for (int i = 0; i < 2400 && !signals.token().stop_requested(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(guard.over());
  CHECK(signals.token().stop_requested());
  CHECK(record.done().back() == "resume");
}

TEST_CASE("a process below its limit is left alone") {
  app::StopSignals signals;
  Record record;
  app::MemoryGuard guard({.bytes = 1ULL << 46, .source = "configuration"}, signals, record.say(),
                         record.relief());
  for (int i = 0; i < 5; ++i)
    guard.watch().look();
  CHECK_FALSE(guard.over());
  CHECK_FALSE(signals.token().stop_requested());
  CHECK(record.lines().empty());
  CHECK(record.done().empty());
}

TEST_CASE("what was enough ends the ladder: a run goes on above the soft share's end") {
  constexpr std::size_t size = 256 << 20;
  auto block = std::make_unique_for_overwrite<char[]>(size);
  std::memset(block.get(), 1, size);
  const std::uint64_t held = monitor::read_process_memory().held();
  app::StopSignals signals;
  Record record;
  app::MemoryRelief relief = record.relief();
  relief.evict = [&block](std::uint64_t bytes) {
    block.reset();
    return bytes;
  };
  // 96 % of it are held.
  app::MemoryGuard guard({.bytes = held * 100 / 96, .source = "configuration"}, signals,
                         record.say(), relief);
  for (int i = 0; i < 5; ++i)
    guard.watch().look();
  CHECK_FALSE(guard.over());
  CHECK(record.done().empty());
  const Lines lines = record.lines();
  REQUIRE(lines.size() == 1);
  CHECK(says(lines, "caches let go of "));
}
