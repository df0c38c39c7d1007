#include "pattern_recipe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

// A training in processes that are killed. It has a program of its own: the processes are forked
// from one that has made no thread yet.
using namespace headrace::training;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::duration;

// HEADRACE_KILLS: how many; 20 unless said otherwise.
int wanted_kills() {
  const char* said = std::getenv("HEADRACE_KILLS");
  return said != nullptr ? std::atoi(said) : 20;
}

constexpr std::int64_t epochs_of_stage = 8;
constexpr std::int64_t poisoned = 33;

// Two stages with all that a checkpoint may have to hold: windows of three micro-batches, one of
// which is skipped in each epoch, averaged weights and a loss scale, parameters that join.
std::vector<Stage> full_stages() {
  std::vector<Stage> stages = two_stages();
  for (Stage& stage : stages) {
    stage.epochs = epochs_of_stage;
    stage.accumulation = 3;
  }
  stages[0].ema = 0.8;
  stages[0].precision = Precision::fp16;
  stages[1].unfreeze = {{.at = 4, .patterns = {"conv"}, .warmup = 5}};
  return stages;
}

[[noreturn]] void train_and_exit(const fs::path& folder) {
  int code = 1;
  try {
    at::set_num_threads(1);
    PatternRecipe recipe(full_stages());
    recipe.poisoned = poisoned;
    const MemberResult result = train_member(
        recipe, recipe.members().front(), {.folder = folder, .seed = 3, .checkpoint_every = 2},
        {.trainer = {.on_warning = [](const std::string&) {}}});
    code = result.status == RunStatus::finished ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(code);
}

bool is_temporary(std::string_view name) {
  return name.find(".tmp-") != std::string_view::npos;
}
bool is_checkpoint(std::string_view name) {
  return name.starts_with("checkpoint-") && !is_temporary(name);
}

// A training in a process of its own, and the names that come up in its folder.
class Training {
 public:
  explicit Training(const fs::path& folder) : watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    fs::create_directories(folder);
    ::inotify_add_watch(watch_, folder.c_str(), IN_CREATE | IN_MOVED_TO);
    child_ = ::fork();
    if (child_ == 0) train_and_exit(folder);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() {
    if (child_ > 0) kill();
    ::close(watch_);
  }

  void kill() {
    ::kill(child_, SIGKILL);
    wait();
  }
  int wait() {
    int status = -1;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return status;
  }

  // Waits so long; false if the process ended before.
  bool pass(Clock::duration time) {
    const Clock::time_point end = Clock::now() + time;
    while (Clock::now() < end) {
      if (ended()) return false;
      ::usleep(200);
    }
    return !ended();
  }
  // Waits until so many such names have come up; false if the process ended before.
  template <class Which>
  bool see(const Which& which, int times) {
    while (times > 0) {
      pollfd ready{.fd = watch_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 1) == 0 && ended()) return false;
      alignas(inotify_event) char bytes[4096];
      const ssize_t got = ::read(watch_, bytes, sizeof bytes);
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
        if (event->len > 0 && which(std::string_view(event->name))) --times;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    return true;
  }

 private:
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_;
  }

  pid_t child_ = -1;
  int watch_;
};

// Where a kill hit.
struct Hits {
  int writing = 0;  // a file was half written
  int pruning = 0;  // a checkpoint had its name, the oldest was not removed yet
  int kills = 0;
  int left = 0;  // checkpoints in the folder at the last kill; those that stay are two

  void count(const fs::path& folder) {
    ++kills;
    bool temporary = false;
    int checkpoints = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      temporary = temporary || is_temporary(name);
      checkpoints += is_checkpoint(name) ? 1 : 0;
    }
    writing += temporary ? 1 : 0;
    pruning += checkpoints > 2 ? 1 : 0;
    CHECK(checkpoints <= std::max(2, left) + 1);  // a kill behind a rename leaves one more
    left = checkpoints;
  }
};

// The moment comes after a random time, while a file is written, or when a checkpoint has just got
// its name. False if the process ended before.
bool wait_for_moment(Training& training, int number, Clock::duration whole, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::uniform_int_distribution<int> some(1, 8);
  switch (number % 3) {
    case 0:
      return training.pass(std::chrono::duration_cast<Clock::duration>(whole * uniform(random)));
    case 1:
      return training.see(is_temporary, some(random)) &&
             training.pass(std::chrono::microseconds(static_cast<int>(2000 * uniform(random))));
    default:
      return training.see(is_checkpoint, some(random));
  }
}

// That the unkilled run has done what the stages ask for.
void check_full(const fs::path& whole) {
  const Progress last = CheckpointStore(whole).load_latest()->progress;
  CHECK(last.stage == 1);
  CHECK(last.skipped == epochs_of_stage);
  CHECK(last.unfrozen_at.size() == 1);
}

// `left`: how many checkpoints the last process found; it may have had none to write.
void check_same_files(const fs::path& whole, const fs::path& resumed, int left) {
  CheckpointStore a(whole);
  CheckpointStore b(resumed);
  CHECK(b.list().size() >= 2);
  CHECK(b.list().size() <= static_cast<std::size_t>(std::max(2, left)));
  CHECK(bytes_of(a.list().front()) == bytes_of(b.list().front()));
  CHECK(bytes_of(a.best_path()) == bytes_of(b.best_path()));
  CHECK(std::ranges::none_of(fs::directory_iterator(resumed), [](const auto& entry) {
    return is_temporary(entry.path().filename().string());
  }));
}

}  // namespace

TEST_CASE("a training killed again and again ends with the weights of one that was not") {
  const TemporaryFolder folder;
  const fs::path whole = folder / "whole";
  const Clock::time_point start = Clock::now();
  REQUIRE(Training(whole).wait() == 0);
  const Clock::duration time = Clock::now() - start;

  std::mt19937 random(14);
  Hits hits;
  int finished = 0;
  for (const int wanted = wanted_kills(); hits.kills < wanted || finished == 0;) {
    const fs::path run = folder / ("run-" + std::to_string(finished));
    Training training(run);
    if (hits.kills < wanted && wait_for_moment(training, hits.kills, time, random)) {
      training.kill();
      hits.count(run);
      continue;
    }
    CAPTURE(hits.kills);
    REQUIRE(training.wait() == 0);
    check_same_files(whole, run, std::exchange(hits.left, 0));
    ++finished;
  }
  check_full(whole);
  std::printf(
      "%d kills, %d of them while a file was written, %d before the oldest was removed; "
      "%d runs finished; a whole one takes %.2f s\n",
      hits.kills, hits.writing, hits.pruning, finished, duration<double>(time).count());
}
