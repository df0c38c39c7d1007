// A process that is forked from one with a loader: it has the loader's memory and none of its
// threads.
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/support/forked_child.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

TEST_CASE("a forked process is told that the loader's threads are not in it" *
          doctest::skip(cannot_fork_at_work)) {
  const Runtime runtime({.threads = 2});
  auto loader = std::make_unique<Loader>(
      work_on(table({.records = 400}), true).batch({.size = 8}).build({.runtime = runtime}));
  auto running = std::make_unique<Epoch>(loader->epoch(0));
  auto held = std::make_unique<Batch>(loader->next().batch);
  const auto error_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const PipelineError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string asked = in_a_child([&] {
    const std::string next = error_of([&] { static_cast<void>(loader->next()); });
    const std::string epoch = error_of([&] { static_cast<void>(loader->epoch(3)); });
    std::string others;
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { static_cast<void>(loader->try_next()); },
             [&] { static_cast<void>(loader->stats()); }, [&] { loader->reset_stats(); },
             [&] { static_cast<void>(loader->position()); }, [&] { loader->seek({}); },
             [&] {
               for (Batch& batch : *running)
                 static_cast<void>(batch);
             }})
      others += error_of(call) + "\n";
    running.reset();
    // Ending what was made before the fork neither waits nor harms the other process.
    held.reset();
    loader.reset();
    return next + "\n" + epoch + "\n" + others;
  });
  CHECK(asked.find("[train] next() was called in process") != std::string::npos);
  CHECK(asked.find("[train] epoch() was called in process") != std::string::npos);
  for (const char* call : {"stats()", "reset_stats()", "position()", "seek()"})
    CHECK(asked.find(std::string("[train] ") + call + " was called in process") !=
          std::string::npos);
  CHECK(asked.find("no error") == std::string::npos);
  CHECK(asked.find("which was forked from process " + std::to_string(getpid())) !=
        std::string::npos);
  CHECK(loader->next().batch.number() == 1);
}

// Run by the next case in a process of its own: oneTBB does not bear a fork once it is at work.
TEST_CASE("built before the fork" * doctest::skip()) {
  const auto rows_of = [](Loader& loader) {
    std::int64_t rows = 0;
    for (Batch& batch : loader.epoch(0))
      rows += batch.size();
    return rows;
  };
  Loader loader = work_on(table({.records = 400}), true)
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  CHECK(in_a_child([&] { return std::to_string(rows_of(loader)); }) == "400");
  CHECK(rows_of(loader) == 400);
}

TEST_CASE("a loader that was built before the process's first epoch runs in a forked process" *
          doctest::skip(cannot_fork)) {
  const pid_t anew = fork();
  REQUIRE(anew >= 0);
  if (anew == 0) {
    execl("/proc/self/exe", "headrace_engine_tests", "--test-case=built before the fork",
          "--no-skip", nullptr);
    _exit(2);
  }
  int status = 0;
  waitpid(anew, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a process that is forked once loaders were at work is told to begin none" *
          doctest::skip(cannot_fork)) {
  const auto rows_of = [](const Runtime& runtime) {
    Loader loader =
        work_on(table({.records = 400}), true).batch({.size = 8}).build({.runtime = runtime});
    std::int64_t rows = 0;
    for (Batch& batch : loader.epoch(0))
      rows += batch.size();
    return std::to_string(rows);
  };
  const Runtime before({.threads = 2});
  CHECK(rows_of(before) == "400");
  const std::string said = in_a_child([&] { return rows_of(Runtime({.threads = 2})); });
  CHECK(said.find("[runtime] oneTBB, which runs all loaders, was at work in process " +
                  std::to_string(getpid())) != std::string::npos);
  CHECK(said.find("fork before the process's first epoch of any loader") != std::string::npos);
  CHECK(rows_of(before) == "400");
}

TEST_CASE("a runtime whose threads are in another process says so" *
          doctest::skip(cannot_fork_at_work)) {
  Runtime runtime({.threads = 2});
  const Loader loader = [&] {
    Loader made =
        work_on(table({.records = 40}), true).batch({.size = 8}).build({.runtime = runtime});
    static_cast<void>(made.next());
    return made;
  }();
  const auto held = runtime.memory_in_use();
  CHECK(held > 0);
  const std::string said = in_a_child([&] {
    std::string all = std::to_string(runtime.memory_in_use());
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { runtime.set_share(0.5); }, [&] { runtime.set_paused(true); },
             [&] { static_cast<void>(runtime.holdings()); }}) {
      try {
        call();
        all += " no error";
      } catch (const PipelineError& error) {
        all += std::string(" ") + error.what();
      }
    }
    return all;
  });
  CHECK(said.starts_with("0 [runtime] set_share() was called in process"));
  CHECK(said.find("no error") == std::string::npos);
  CHECK(runtime.share() == 1.0);
  CHECK(runtime.memory_in_use() == held);
}
