// A process that is forked from one with a loader: it has the loader's memory and none of its
// threads.
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// What a child process says: the text that `work` returns.
template <class Work>
std::string in_a_child(Work work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(sanitized ? 240 : 120);  // a hang ends it
    std::string said;
    try {
      said = work();
    } catch (const std::exception& error) {
      said = error.what();
    }
    const bool written = write(ends[1], said.data(), said.size()) == std::ssize(said);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char part[512];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return said;
}

#ifdef __SANITIZE_THREAD__
constexpr bool cannot_fork = true;  // ThreadSanitizer's runtime does not bear threads in a child
#else
constexpr bool cannot_fork = false;
#endif

}  // namespace

TEST_CASE("a forked process is told that the loader's threads are not in it" *
          doctest::skip(cannot_fork)) {
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
