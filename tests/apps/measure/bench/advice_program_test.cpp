// Faults that are planted in real pieces, which no clock measures: the advice names exactly that.
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/monitor/advice/advice_rules.h>
#include <headrace/monitor/advice/read_facts.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace headrace;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;
using monitor::Advice;
using monitor::RunFacts;

using Words = std::vector<std::string>;

Finished advised_bench(const TemporaryFolder& folder, const Words& settings) {
  Words words{"bench",
              "loader",
              headrace::test::source_folder() + "/configs/loader/table.yaml",
              "--json",
              "bench.json",
              "--step",
              "5ms",
              "--batches",
              "40",
              "--set",
              "data.row_bytes=64",
              "--set",
              "batch=512"};
  for (const std::string& setting : settings)
    words.insert(words.end(), {"--set", setting});
  return run_headrace(folder.path(), words);
}

std::optional<Advice> advice_of_rule(int number, const RunFacts& facts) {
  return monitor::advice_rules()[static_cast<std::size_t>(number - 1)].look(facts, {});
}

// A process that keeps a core busy while it lives.
class BusyChild {
 public:
  BusyChild() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(600);
    volatile unsigned count = 0;
    for (;;) {
      const unsigned next = count + 1;
      count = next;
    }
  }
  ~BusyChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  BusyChild(const BusyChild&) = delete;
  BusyChild& operator=(const BusyChild&) = delete;
  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("what rules 17 and 21 call an error is refused before the first read") {
  const TemporaryFolder folder;
  const auto batches = [](std::int64_t records) {
    RunFacts facts;
    facts.records = monitor::RecordFacts{.records = records, .batch = 512};
    return facts;
  };
  CHECK(advice_of_rule(21, batches(511)).has_value());
  CHECK(advised_bench(folder, {"data.rows=511"}).status == 3);
  CHECK_FALSE(advice_of_rule(21, batches(512)).has_value());
  CHECK(advised_bench(folder, {"data.rows=512"}).status == 0);
  RunFacts large;
  large.plan = monitor::PlanFacts{.forecast = 2_MiB, .limit = 1_MiB};
  CHECK(advice_of_rule(17, large).has_value());
  CHECK(advised_bench(folder, {"data.rows=512", "memory=1MiB"}).status == 4);
}

TEST_CASE("rows in a random order out of long chunks are what a real file is slow by") {
  const TemporaryFolder folder;
  constexpr std::int64_t rows = 4096, chunk = 64;
  Hdf5Writer writer(folder.path() / "rows.h5");
  writer.add("x", DType::float32, rows, {64}, {.chunk_rows = chunk, .codec = Hdf5Codec::lz4});
  writer.append("x", Tensor::zeros(DType::float32, {rows, 64}));
  writer.finish();
  const auto reads_of = [&](auto order) {
    const auto table =
        std::make_shared<Hdf5Table>(Hdf5TableOptions{.file = folder.path() / "rows.h5",
                                                     .fields = {{.name = "x", .dataset = "x"}},
                                                     .memory = 4 * chunk * 256,
                                                     .residence = Residence::pread});
    Loader loader = Pipeline::from(std::static_pointer_cast<const Source>(table))
                        .order(order)
                        .batch({.size = 32})
                        .build({.runtime = Runtime({.threads = 2})});
    for ([[maybe_unused]] const Batch& batch : loader.epoch(0)) {
    }
    RunFacts facts;
    const Hdf5ChunkReads counted = table->chunk_reads();
    facts.reads = monitor::row_reads({.unpacked = static_cast<double>(counted.bytes_unpacked),
                                      .used = static_cast<double>(counted.bytes_used)},
                                     table->chunk_rows());
    return facts;
  };
  const auto advice = advice_of_rule(6, reads_of(Shuffled{.seed = 7}));
  REQUIRE(advice);
  CHECK(contains(advice->verdict, "chunks of 64 rows"));
  CHECK(advice->setting == "headrace pack table --layout");
  CHECK_FALSE(advice_of_rule(6, reads_of(Sequential{})).has_value());
}

TEST_CASE(
    "a bench of rows in any order out of long chunks is told of its chunks, in order it is not") {
  const TemporaryFolder folder;
  constexpr std::int64_t rows = 8192, chunk = 64;
  Hdf5Writer writer(folder.path() / "rows.h5");
  writer.add("x", DType::float32, rows, {64}, {.chunk_rows = chunk, .codec = Hdf5Codec::lz4});
  writer.append("x", Tensor::zeros(DType::float32, {rows, 64}));
  writer.finish();
  std::ofstream(folder.path() / "rows.yaml")
      << "kind: loader\ndata:\n  source: hdf5\n  file: rows.h5\n  datasets: [x]\n"
         "  resident: 64KiB\nbatch: 64\nthreads:\n  loader: 1\n  io: 1\n";
  const auto bench_in_order = [&](const std::string& shuffle) {
    const Finished finished = run_headrace(
        folder.path(), {"bench", "loader", "rows.yaml", "--json", "bench.json", "--set", shuffle});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return nlohmann::json::parse(content_of(folder.path() / "bench.json"));
  };
  const auto shuffled = bench_in_order("shuffle=true");
  const auto advice = shuffled.at("verdict").at("advice");
  CHECK(advice.at("rule") == "chunk-shape");
  CHECK(contains(advice.at("verdict"), "chunks of 64 rows"));
  CHECK(advice.at("setting") == "headrace pack table --layout");
  CHECK(shuffled.at("reads").at("bytes_read").get<double>() >
        4.0 * shuffled.at("reads").at("bytes_used").get<double>());
  const auto in_order = bench_in_order("shuffle=false");
  CHECK(in_order.at("reads").at("bytes_read").get<double>() <
        2.0 * in_order.at("reads").at("bytes_used").get<double>());
  if (in_order.at("verdict").contains("advice"))
    CHECK(in_order.at("verdict").at("advice").at("rule") != "chunk-shape");
}

TEST_CASE("a real process that takes the CPU is named by its number") {
  const BusyChild child;
  const auto before = monitor::read_process_ticks();
  const auto start = std::chrono::steady_clock::now();
  // How soon it has used a tenth of a second depends on who else is here.
  const auto ticks_of_child = [&] {
    const auto now = monitor::read_process_ticks();
    const auto found = now.find(child.pid());
    return found == now.end() ? 0 : found->second.second;
  };
  const auto began = ticks_of_child();
  const auto guard = start + std::chrono::minutes(5);
  while (ticks_of_child() < began + 10 && std::chrono::steady_clock::now() < guard)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  auto busiest =
      monitor::busiest_processes(before, monitor::read_process_ticks(), passed.count(), 1000);
  std::erase_if(busiest, [&](const auto& one) { return one.pid != child.pid(); });
  REQUIRE(busiest.size() == 1);
  RunFacts facts;
  // Of as many cores as it got: how much that is depends on who else is here.
  facts.machine = monitor::MachineFacts{.cores = 1, .others = busiest};
  facts.machine->others.front().cores = std::max(busiest.front().cores, 0.2);
  const auto advice = advice_of_rule(19, facts);
  REQUIRE(advice);
  CHECK(contains(advice->verdict, std::to_string(child.pid())));
  CHECK(busiest.front().cores > 0.0);
}
