#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

}  // namespace

TEST_CASE("the configuration for pictures runs over a folder of JPEG files") {
  const TemporaryFolder folder;
  for (int i = 0; i < 24; ++i) {
    const auto of_class = folder.path() / "images" / (i % 2 == 0 ? "a" : "b");
    std::filesystem::create_directories(of_class);
    const auto bytes = headrace::test::encode_jpeg(
        {.width = 80, .height = 60}, headrace::test::picture(80, 60, 3, static_cast<unsigned>(i)));
    std::ofstream(of_class / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  const auto run = [&](const std::string& setting) {
    return run_headrace(
        folder.path(),
        {"bench", "loader", headrace::test::source_folder() + "/configs/loader/images.yaml",
         "--set", "data.folder=images", "--set", "batch=8", "--set", "image.side=32", "--set",
         setting, "--json", "bench.json"});
  };
  const Finished on_gpu = run("image.decode=cuda");
  if (on_gpu.status == 0) {
    CHECK(contains(on_gpu.out, "decoded on the GPU: "));
  } else {  // nothing is silently done on the CPU instead
    CHECK((on_gpu.status == 7 || on_gpu.status == 2));
    CHECK(contains(on_gpu.err, "cuda:0"));
  }
  const Finished finished = run("augment=[{rotate: 5}]");
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "decode"));
  CHECK(contains(finished.out, "rotate"));
  const auto json = nlohmann::json::parse(content_of(folder.path() / "bench.json"));
  CHECK(json.at("bytes") == json.at("samples").get<std::int64_t>() * (32 * 32 * 3 + 8));
}

TEST_CASE("bench loader loads no LibTorch") {
  const TemporaryFolder folder;
  StartedProgram program(
      headrace::test::headrace_program(),
      {"bench", "loader", headrace::test::source_folder() + "/configs/loader/table.yaml", "--step",
       "20ms"},
      {.folder = folder.path()});
  const std::string process = "/proc/" + std::to_string(program.pid());
  const auto threads = [&] {
    std::int64_t count = 0;
    std::error_code ended;
    for (std::filesystem::directory_iterator task(process + "/task", ended), end; task != end;
         task.increment(ended)) {
      if (ended) break;
      ++count;
    }
    return count;
  };
  REQUIRE(program.wait_until([&] { return threads() > 4; }));  // the pipeline runs
  const std::string maps = content_of(process + "/maps");
  CHECK(contains(maps, "libtbb"));
  CHECK_FALSE(contains(maps, "libtorch"));
  CHECK_FALSE(contains(maps, "libc10"));
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
}
