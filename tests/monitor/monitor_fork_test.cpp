// What watches and writes from a process, seen from one that was forked from it.
#include <headrace/engine/base/error.h>
#include <headrace/monitor/event_file.h>
#include <headrace/monitor/memory/memory_watch.h>
#include <headrace/monitor/system/system_watch.h>
#include <headrace/tests/support/forked_child.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

std::string told(const std::function<void()>& call) {
  try {
    call();
  } catch (const PipelineError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("watches are told that their threads are in another process, and end in silence" *
          doctest::skip(cannot_fork_at_work)) {
  auto system = std::make_unique<monitor::SystemWatch>(
      monitor::SystemWatchOptions{.period = std::chrono::milliseconds(20)});
  auto memory = std::make_unique<monitor::MemoryWatch>(
      monitor::MemoryWatchOptions{.period = std::chrono::milliseconds(1)});
  for (int i = 0; i < 5; ++i) {
    const std::string said = in_a_child([&] {
      std::string all;
      for (const std::function<void()>& call : std::vector<std::function<void()>>{
               [&] { static_cast<void>(system->last()); },
               [&] { static_cast<void>(memory->last()); },
               [&] { static_cast<void>(memory->peak_held()); }, [&] { memory->look(); }})
        all += told(call) + "\n";
      system.reset();
      memory.reset();
      const monitor::MemoryWatch own;
      own.last();
      return all;
    });
    CHECK(said.starts_with("[system watch] it was made in process " + std::to_string(getpid())));
    CHECK(said.find("[memory watch] it was made in process") != std::string::npos);
    CHECK(said.find("make it after the fork") != std::string::npos);
    CHECK(said.find("no error") == std::string::npos);
  }
  CHECK(memory->peak_held() > 0);
}

TEST_CASE("a forked process writes nothing to an event file of the other one" *
          doctest::skip(cannot_fork)) {
  const TemporaryFolder folder;
  std::string warned;
  auto file = std::make_unique<monitor::EventFile>(
      folder.path(),
      monitor::EventFileOptions{.flush_every = std::chrono::hours(1),
                                .warn = [&](const std::string& text) { warned += text; }});
  const std::filesystem::path path = file->path();
  const auto empty = std::filesystem::file_size(path);
  file->scalar("loss", 1, 0.5);
  CHECK(in_a_child([&] {
          file.reset();
          return std::string("gone");
        }) == "gone");
  CHECK(std::filesystem::file_size(path) == empty);
  const std::string said = in_a_child([&] {
    file->scalar("loss", 2, 0.25);
    file->flush();
    return warned;
  });
  CHECK(said.find("a process that was forked from the file's own") != std::string::npos);
  CHECK(std::filesystem::file_size(path) == empty);
  file->flush();
  const auto one = std::filesystem::file_size(path) - empty;
  CHECK(one > 0);
  file->scalar("loss", 3, 0.5);
  file->flush();
  CHECK(std::filesystem::file_size(path) == empty + 2 * one);
  CHECK(warned.empty());
}
