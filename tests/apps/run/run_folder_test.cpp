#include <headrace/apps/run/run_folder.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <unistd.h>

using namespace headrace::app;
using headrace::test::content_of;
using headrace::test::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("a run folder is never one that is there already") {
  const TemporaryFolder folder;
  const fs::path parent = folder.path() / "runs";
  CHECK(RunFolder::create(parent, "demo").path() == parent / "demo");
  CHECK(RunFolder::create(parent, "demo").path() == parent / "demo-2");
  CHECK(RunFolder::create(parent, "demo").path() == parent / "demo-3");
  CHECK(fs::is_directory(parent / "demo-3" / "checkpoints"));
}

TEST_CASE("runs that start at once get folders of their own") {
  const TemporaryFolder folder;
  std::vector<fs::path> paths(8);
  {
    std::vector<std::jthread> threads;
    for (fs::path& path : paths) {
      threads.emplace_back([&] { path = RunFolder::create(folder.path(), "demo").path(); });
    }
  }
  CHECK(std::set<fs::path>(paths.begin(), paths.end()).size() == paths.size());
}

TEST_CASE("a name that would lead elsewhere is refused") {
  const TemporaryFolder folder;
  for (const char* name : {"", "..", ".", "a/b", "/tmp"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(RunFolder::create(folder.path(), name), headrace::ConfigError);
  }
}

TEST_CASE("a place where no folder can be made is a matter of resources") {
  CHECK_THROWS_AS(RunFolder::create("/proc/nowhere", "demo"), headrace::ResourceError);
}

TEST_CASE("a run folder holds configuration, command, environment, metrics and advice") {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path(), "demo");
  run.write_config("a: 1\n");
  run.write_command({"headrace", "train", "my job.yaml", "--set", "a=it's"});
  run.write_environment({{"headrace", "0.1.0"}});
  run.metrics_csv().write({{"epoch", std::int64_t{1}}});
  run.metrics_jsonl().write({{"step", std::int64_t{1}}});
  run.advice().write_json("{}");

  CHECK(content_of(run.path() / "config.yaml") == "a: 1\n");
  CHECK(content_of(run.path() / "command.txt")
            .ends_with(" && headrace train 'my job.yaml' --set 'a=it'\\''s'\n"));
  const auto environment = nlohmann::json::parse(content_of(run.path() / "env.json"));
  CHECK(environment["versions"]["headrace"] == "0.1.0");
  CHECK(environment["cpu"]["usable_cores"].get<int>() >= 1);
  CHECK(environment["memory"]["total_bytes"].get<std::uint64_t>() > 0);
  CHECK(content_of(run.path() / "metrics.csv") == "epoch\n1\n");
  CHECK(content_of(run.path() / "metrics.jsonl") == "{\"step\":1}\n");
  CHECK(content_of(run.path() / "advice.jsonl") == "{}\n");
}

TEST_CASE("a run is continued in its own folder and nowhere else") {
  const TemporaryFolder folder;
  const fs::path path = RunFolder::create(folder.path(), "demo").path();
  CHECK_THROWS_AS(RunFolder::open(path), headrace::ConfigError);
  RunFolder::create(folder.path(), "other").write_config("a: 1\n");
  CHECK(RunFolder::open(folder.path() / "other").path() == folder.path() / "other");
}

TEST_CASE("a run folder is for one program at a time") {
  const TemporaryFolder folder;
  const auto first = std::make_unique<RunFolder>(RunFolder::create(folder.path(), "demo"));
  const fs::path path = first->path();
  first->write_config("a: 1\n");
  RunFolder moved = std::move(*first);
  CHECK_THROWS_WITH_AS(RunFolder::open(path), doctest::Contains("another program is at work in it"),
                       headrace::ConfigError);
  { const RunFolder last = std::move(moved); }
  CHECK(RunFolder::open(path).path() == path);
}

TEST_CASE("the run's logger writes to log.txt and above the block, and is not the process's own") {
  const TemporaryFolder folder;
  int ends[2] = {-1, -1};
  REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
  const auto before = spdlog::default_logger();
  const auto block = std::make_shared<LiveBlock>(
      LiveBlockOptions{.file_descriptor = ends[1], .mode = TerminalMode::lines});
  const auto logger = make_run_logger(folder.path(), block);
  logger->info("epoch {} done\x1b[2J", 1);
  log_to_file_only(*logger, "step 1");

  char text[1000];
  const ssize_t length = read(ends[0], text, sizeof text);
  REQUIRE(length > 0);
  const std::string shown(text, static_cast<std::size_t>(length));
  CHECK(shown.find("info epoch 1 done?[2J\n") != std::string::npos);
  CHECK(shown.find("step 1") == std::string::npos);
  const std::string file = content_of(folder.path() / "log.txt");
  CHECK(file.find("info epoch 1 done") != std::string::npos);
  CHECK(file.find("info step 1\n") != std::string::npos);
  CHECK(std::count(file.begin(), file.end(), '\n') == 2);
  CHECK(spdlog::default_logger() == before);
  CHECK(spdlog::get("headrace") == nullptr);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a dated name starts with the job and sorts by time") {
  const std::string name = RunFolder::dated_name("glaucoma");
  CHECK(name.starts_with("glaucoma-20"));
  CHECK(name.size() == std::string("glaucoma-20261121-092227").size());
}
