#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

const std::string table = HEADRACE_SOURCE_DIR "/configs/loader/table.yaml";

Words bench(Words more) {
  Words words{"bench", "loader", table};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A small table behind a consumer that asks for 102,400 rows/s.
Words small_bench(const std::string& setting = "seed=1") {
  return bench({"--set", "data.rows=40000", "--set", "data.row_bytes=64", "--set", "batch=512",
                "--set", setting, "--step", "5ms", "--batches", "60", "--json", "bench.json"});
}

}  // namespace

TEST_CASE("bench loader prints a report and writes every figure as JSON") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), small_bench());
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  for (const char* word : {"samples/s", "first batch", "peak memory", "consumer's wait", "read",
                           "collate", "transfer"}) {
    CHECK_MESSAGE(contains(finished.out, word), word);
  }
  const auto json = nlohmann::json::parse(content_of(folder.path() / "bench.json"));
  CHECK(json.at("batches").get<int>() + json.at("warmup_batches").get<int>() == 60);
  CHECK(json.at("samples") == json.at("batches").get<int>() * 512);
  CHECK(json.at("bytes") == json.at("samples").get<std::int64_t>() * (64 + 8));
  CHECK(json.at("stages").size() == 3);
  CHECK(json.at("device") == "cpu");
  CHECK(contains(finished.out, "delivered to     cpu (kind loader)\n"));
  CHECK(json.at("peak_bytes").get<double>() <= json.at("forecast_bytes").get<double>());
}

TEST_CASE("bench loader says which device it delivers to, and why") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 64, 8);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: glaucoma\ndata: {file: data.h5}\ntraining: {batch: 8}\n";
  const auto run = [&](const std::string& device) {
    return run_headrace(folder.path(),
                        {"bench", "loader", "job.yaml", "--set", "device=" + device});
  };
  CHECK(contains(run("cpu").out, "delivered to     cpu (as configured)\n"));
  CHECK(contains(run("auto").out,
                 "delivered to     cpu (auto: no model looks for a GPU here; --set device=cuda "
                 "takes it)\n"));
  const Finished cuda = run("cuda");
  CHECK((cuda.status == 7 || contains(cuda.out, "delivered to     cuda:0 (as configured)\n")));
}

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
        folder.path(), {"bench", "loader", HEADRACE_SOURCE_DIR "/configs/loader/images.yaml",
                        "--set", "data.folder=images", "--set", "batch=8", "--set", "image.side=32",
                        "--set", setting, "--json", "bench.json"});
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

TEST_CASE("a stage is where the file of a configuration is copied to; nothing is left of it") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 64, 8);
  std::filesystem::create_directory(folder.path() / "stage");
  const auto staged = [&](const std::string& stage) {
    return run_headrace(folder.path(),
                        {"bench", "loader", "loader.yaml", "--set", "data.stage=" + stage});
  };
  std::ofstream(folder.path() / "loader.yaml")
      << "kind: loader\nbatch: 8\ndata:\n  source: hdf5\n  file: data.h5\n  datasets: [/labels]\n";
  const Finished good = staged("stage");
  CHECK_MESSAGE(good.status == 0, good.err);
  CHECK(contains(good.err, "MiB copied and checked"));
  CHECK(std::filesystem::is_empty(folder.path() / "stage"));
  const Finished bad = staged("missing");
  CHECK(bad.status == 2);
  CHECK(contains(bad.err, "[stage] data.h5 to missing"));
}

TEST_CASE("a key that is not known ends with exit 2 and names the nearest") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), bench({"--set", "data.rowz=7"}));
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "data.rowz"));
  CHECK(contains(finished.err, "did you mean \"data.rows\""));
}

TEST_CASE("a key that is of no use ends with exit 2") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), bench({"--set", "data.folder=x"}));
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "data.folder"));
}

TEST_CASE("usage that cannot be right ends with exit 2, help with exit 0 on standard output") {
  const TemporaryFolder folder;
  for (const Words& words : {Words{}, Words{"frobnicate"}, Words{"train"}, Words{"bench"},
                             bench({"--step", "fast"}), bench({"--epochs", "0"})}) {
    const Finished finished = run_headrace(folder.path(), words);
    CHECK(finished.status == 2);
    CHECK_FALSE(finished.err.empty());
    CHECK(finished.out.empty());
  }
  for (const Words& words :
       {Words{"--help"}, Words{"train", "--help"}, Words{"predict", "--help"},
        Words{"bench", "loader", "--help"}, Words{"prepare", "glaucoma", "--help"}}) {
    const Finished finished = run_headrace(folder.path(), words);
    CHECK(finished.status == 0);
    CHECK(contains(finished.out, "Usage"));
    CHECK(finished.err.empty());
  }
}

TEST_CASE("a loader without a batch is refused with exit 3 and both numbers") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), bench({"--set", "data.rows=100"}));
  CHECK(finished.status == 3);
  CHECK(contains(finished.err, "100"));
  CHECK(contains(finished.err, "8192"));
}

TEST_CASE("a loader that cannot fit its memory is refused with exit 4 and the sum") {
  const TemporaryFolder folder;
  const Finished finished = run_headrace(folder.path(), bench({"--set", "memory=100MiB"}));
  CHECK(finished.status == 4);
  for (const char* word : {"data in memory", "slabs", "total", "limit", "missing"}) {
    CHECK_MESSAGE(contains(finished.err, word), word);
  }
}

TEST_CASE("bench loader loads no LibTorch") {
  const TemporaryFolder folder;
  StartedProgram program(HEADRACE_PROGRAM, bench({"--step", "20ms"}), {.folder = folder.path()});
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
