// Looking at a training that runs: traces, SIGUSR2, `headrace top`.
#include <headrace/tests/apps/glaucoma/small_job.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/trace_check.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TraceCheck;

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class LiveTraining : public headrace::test::SmallGlaucomaJob {
 public:
  StartedProgram start(const Words& settings) const {
    return {headrace::test::headrace_program(), train(settings), {.folder = path()}};
  }
};

std::vector<fs::path> files_of(const fs::path& runs, const std::string& begin,
                               const std::string& end) {
  std::vector<fs::path> found;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(runs, none), last; !none && entry != last;
       entry.increment(none)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

bool logs(const fs::path& runs, const std::string& words) {
  const auto logs = files_of(runs, "log.txt", "");
  return !logs.empty() && contains(content_of(logs.front()), words);
}

TraceCheck checked(const fs::path& file) {
  TraceCheck check(nlohmann::json::parse(content_of(file)));
  CHECK_MESSAGE(check.faults().empty(), check.faults().front());
  return check;
}

Words traced(const std::string& range) {
  Words words = LiveTraining::train({});
  words.insert(words.end(), {"--trace", range});
  return words;
}

}  // namespace

TEST_CASE("train traces the steps that it is told to, over the end of an epoch") {
  const LiveTraining job;
  const Finished finished = job.done(traced("8..12"));
  CHECK(contains(finished.err, "trace of steps 8 to 12 in runs/"));
  const TraceCheck check = checked(job.only_run() / "trace.json");
  CHECK(check.names().at("step") == 5);
  for (const char* part :
       {"data wait", "compute", "evaluation", "checkpoint and rest", "read", "collate", "transfer"})
    CHECK_MESSAGE(check.names().contains(part), part);
  CHECK(check.lines().contains("trainer"));
  CHECK(check.phases().contains("f"));
}

TEST_CASE("a range may begin with the first step, and what ends before it begins has no trace") {
  const LiveTraining job;
  job.done(traced("1..3"));
  CHECK(checked(job.only_run() / "trace.json").names().at("step") == 3);

  const LiveTraining shorter;
  const Finished finished = shorter.done(traced("18..40"));
  CHECK(checked(shorter.only_run() / "trace.json").names().at("step") == 3);
  CHECK(contains(finished.err, "steps 18 to 20"));

  const LiveTraining none;
  CHECK(contains(none.done(traced("21..40")).err, "ended with step 20, before step 21"));
  CHECK_FALSE(fs::exists(none.only_run() / "trace.json"));
}

TEST_CASE("a range that is none is refused, and so is one beside --smoke") {
  const LiveTraining job;
  for (const char* range : {"5..4", "0..3", "x", "3..", ""}) {
    CAPTURE(range);
    const Finished finished = job.run(traced(range));
    CHECK(finished.status == 2);
    CHECK(contains(finished.err, "--trace"));
  }
  Words words = traced("1..2");
  words.insert(words.end(), {"--smoke", "2"});
  CHECK(job.run(words).status == 2);
  CHECK(job.runs().empty());
}

TEST_CASE("what is learnt is the same with a trace") {
  const LiveTraining job;
  job.done(LiveTraining::train({"runs=plain"}));
  Words words = LiveTraining::train({"runs=traced"});
  words.insert(words.end(), {"--trace", "2..15"});
  job.done(words);
  CHECK(headrace::test::best_weights(job.only_run("plain")) ==
        headrace::test::best_weights(job.only_run("traced")));
}

// Its one epoch takes so long that whatever comes finds it training.
TEST_CASE("SIGUSR2 writes down what a training does, twice, and ends nothing") {
  const LiveTraining job;
  StartedProgram program = job.start(
      {"training.batch=2", "delay.transfer=500ms", "memory.measure=false", "log_every=1"});
  const fs::path runs = job.path() / "runs";
  REQUIRE(program.wait_until([&] { return logs(runs, "samples/s"); }));
  program.signal(SIGUSR2);
  REQUIRE(program.wait_until([&] { return !files_of(runs, "trace-1", ".json").empty(); }));
  program.signal(SIGUSR2);
  REQUIRE(program.wait_until([&] { return !files_of(runs, "trace-2", ".json").empty(); }));
  CHECK(program.running());
  program.signal(SIGINT);
  CHECK(program.wait() == 130);

  const auto texts = files_of(runs, "live-", ".txt");
  REQUIRE(texts.size() == 2);
  const std::string text = content_of(texts.front());
  CAPTURE(text);
  for (const char* part : {"place    fold 0, epoch ", "doing    training", "budget   step ",
                           "verdict  ", "queue    ", "slabs on loan", "collate", "transfer delay",
                           "who holds what", "threads of the process", "headrace-0"})
    CHECK_MESSAGE(contains(text, part), part);
  CHECK(logs(runs, "SIGUSR2: what it is doing is in runs/"));
  CHECK(logs(runs, "trace of 2.00 s in runs/"));
  for (const char* name : {"trace-1", "trace-2"}) {
    const TraceCheck check = checked(files_of(runs, name, ".json").front());
    CHECK(check.names().contains("step"));
    CHECK(check.names().contains("read"));
  }
}

TEST_CASE("SIGUSR2 as early as a run folder is there does not end the training") {
  const LiveTraining job;
  StartedProgram program = job.start({});
  const fs::path runs = job.path() / "runs";
  REQUIRE(program.wait_until([&] { return fs::exists(runs); }));
  for (int i = 0; i < 50; ++i)
    program.signal(SIGUSR2);
  CHECK(program.wait() == 0);
}

TEST_CASE("top shows a run that lives, one that has ended and one that was killed") {
  const LiveTraining job;
  const Words once{"top", "--once"};
  const auto top = [&](const fs::path& run) {
    const Finished finished = run_headrace(job.path(), {"top", run.string(), "--once"});
    CHECK(finished.status == 0);
    CHECK_FALSE(contains(finished.out, "\x1b"));
    CHECK(std::ranges::count(finished.out, '\n') <= 20);
    return finished.out;
  };
  const fs::path runs = job.path() / "killed";
  {
    StartedProgram program =
        job.start({"runs=killed", "training.epochs=100000", "training.early_stopping=0",
                   "delay.transfer=20ms", "log_every=1"});
    REQUIRE(program.wait_until([&] {
      const auto tables = files_of(runs, "metrics.csv", "");
      return logs(runs, "samples/s") && !tables.empty() &&
             std::ranges::count(content_of(tables.front()), '\n') >= 2;
    }));
    const std::string alive = top(job.only_run("killed"));
    CAPTURE(alive);
    for (const char* part : {"glaucoma · process ", "running, last row ", "fold 0 epoch ",
                             "samples/s", "step ", "\nepoch ", "val_loss"})
      CHECK_MESSAGE(contains(alive, part), part);
    program.signal(SIGKILL);
    program.wait();
  }
  CHECK(contains(top(job.only_run("killed")), "ended: killed"));

  job.done(LiveTraining::train({"runs=done", "training.epochs=1"}));
  CHECK(contains(top(job.only_run("done")), "ended: done"));
  const Finished ended = run_headrace(job.path(), {"top", job.only_run("done").string()});
  CHECK(ended.status == 0);  // nothing to wait for
  CHECK(std::ranges::count(ended.out, '\n') == 1);
  CHECK_FALSE(contains(ended.out, "\x1b"));
}

TEST_CASE("Ctrl-C ends top in good order, and the training goes on") {
  const LiveTraining job;
  StartedProgram program = job.start({"training.epochs=100000", "training.early_stopping=0",
                                      "delay.transfer=20ms", "log_every=1"});
  REQUIRE(program.wait_until([&] { return logs(job.path() / "runs", "samples/s"); }));
  const headrace::test::TemporaryFolder elsewhere;
  StartedProgram top(headrace::test::headrace_program(),
                     {"top", fs::absolute(job.only_run()).string(), "--interval", "100ms"},
                     {.folder = elsewhere.path()});
  REQUIRE(top.wait_until([&] { return contains(top.out(), "fold 0 epoch "); }));
  top.signal(SIGINT);
  CHECK(top.wait() == 0);
  CHECK(top.out().ends_with('\n'));
  CHECK(top.err().empty());
  CHECK(program.running());
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
}

TEST_CASE("top refuses what is no run, and an interval that is none") {
  const LiveTraining job;
  const Finished none = run_headrace(job.path(), {"top", "nowhere", "--once"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "[top] nowhere: must be the folder of a run"));
  for (const char* interval : {"0s", "x", "-1s", "10ms"})
    CHECK(run_headrace(job.path(), {"top", ".", "--interval", interval}).status == 2);
}

namespace {

// `headrace top RUN` on a terminal of that width until its text holds the words; what it wrote.
std::string top_on_terminal(const fs::path& run, unsigned short columns, const std::string& term,
                            const std::string& words) {
  const headrace::test::Ends ends = headrace::test::make_terminal(columns);
  const headrace::test::Environment ci("CI", nullptr);
  const headrace::test::Environment kind("TERM", term.c_str());
  const std::string folder = run.string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends.write, STDOUT_FILENO);
    ::execl(headrace::test::headrace_program().c_str(), "headrace", "top", folder.c_str(),
            "--interval", "100ms", nullptr);
    ::_exit(127);
  }
  std::string text;
  int status = 0;
  for (bool ended = false; !ended && !contains(text, words);) {
    ended = ::waitpid(child, &status, WNOHANG) == child;
    text += ends.drain();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return text;
}

}  // namespace

TEST_CASE("top redraws a block on a terminal and writes lines without escapes on a dumb one") {
  const LiveTraining job;
  StartedProgram program = job.start({"training.epochs=100000", "training.early_stopping=0",
                                      "delay.transfer=20ms", "log_every=1"});
  const fs::path runs = job.path() / "runs";
  REQUIRE(program.wait_until([&] { return logs(runs, "samples/s"); }));
  const fs::path run = job.only_run();
  for (const unsigned short columns : {40, 80, 100, 200}) {
    const std::string live = top_on_terminal(run, columns, "xterm", "\x1b[J");
    CHECK(contains(live, "fold 0 epoch "));
    CHECK(contains(live, "\x1b["));
    CHECK_FALSE(contains(live, "\x1b[?"));  // the cursor is never hidden
  }
  const std::string dumb = top_on_terminal(run, 80, "dumb", "last row");
  CHECK_FALSE(contains(dumb, "\x1b"));
  CHECK(contains(dumb, "fold 0 epoch "));
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
}
