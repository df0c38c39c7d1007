// What a run is told over its windows: patience, news, contradictions, the starved GPU.
#include <headrace/monitor/advice/adviser.h>
#include <headrace/tests/monitor/run_window.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace headrace::test;

namespace {

std::vector<std::string> rules_of(const std::vector<Advice>& all) {
  std::vector<std::string> rules;
  for (const Advice& advice : all)
    rules.push_back(advice.rule);
  return rules;
}

using Rules = std::vector<std::string>;

RunFacts slow_decode(double busy = 0.5) {
  return window({.decode_s = 0.0139, .gpu_busy = busy});
}

RunFacts with_hog(RunFacts facts) {
  facts.machine->others = {{.pid = 7, .name = "hog", .cores = 12.0}};
  facts.machine->machine_share = 0.98;
  return facts;
}

RunFacts hot(RunFacts facts) {
  facts.gpu->throttled = {"power cap"};
  return facts;
}

}  // namespace

TEST_CASE("a healthy run is told once that its GPU sets the pace, and nothing else") {
  Adviser adviser;
  CHECK(rules_of(adviser.look(window())) == Rules{"compute-bound"});
  for (int epoch = 4; epoch <= 10; ++epoch) {
    RunFacts facts = window();
    facts.epoch = epoch;
    CHECK(adviser.look(facts).empty());
  }
}

TEST_CASE("a healthy run on a CPU is told nothing") {
  RunFacts facts = window();
  facts.gpu_wanted = false;
  facts.budget.on_gpu = false;
  facts.gpu.reset();
  facts.allocator.reset();
  Adviser adviser;
  for (int epoch = 1; epoch <= 5; ++epoch)
    CHECK(adviser.look(facts).empty());
}

TEST_CASE("a GPU beside a training on the CPU is nothing to tell it of") {
  RunFacts facts = window({.gpu_busy = 0.0});
  facts.gpu_wanted = false;
  facts.gpu->our_context = false;
  facts.budget.on_gpu = false;
  facts.allocator.reset();
  CHECK(rules_of(advise(facts)).empty());
  CHECK(rules_of(Adviser().look(facts)).empty());
  facts.gpu->our_context = true;
  CHECK_FALSE(rules_of(advise(facts)).empty());
}

TEST_CASE("an advice carries the number of its rule") {
  const std::vector<Advice> all = advise(slow_decode());
  REQUIRE(rules_of(all) == Rules{"raise-threads"});
  CHECK(all.front().number == 2);
  CHECK(has(all.front().json(), "\"number\":2"));
}

TEST_CASE("a rule with patience speaks when it held for that many windows in a row") {
  Adviser adviser;
  CHECK(rules_of(adviser.look(hot(window()))) == Rules{"compute-bound"});
  CHECK(rules_of(adviser.look(hot(window()))) == Rules{"throttled"});
  Adviser other;
  other.look(hot(window()));
  other.look(window());
  CHECK(other.look(hot(window())).empty());
  CHECK(rules_of(other.look(hot(window()))) == Rules{"throttled"});
  CHECK(rules_of(advise(hot(window()))) == Rules{"throttled", "compute-bound"});
}

TEST_CASE("an advice is said again only where it got clearly worse") {
  Adviser adviser;
  const auto stalled = [](double share) { return with_stall(slow_decode(), share); };
  CHECK(adviser.look(stalled(0.30)).size() == 1);
  CHECK(adviser.look(stalled(0.30)).empty());
  CHECK(adviser.look(stalled(0.37)).empty());
  CHECK(adviser.look(stalled(0.38)).size() == 1);
  CHECK(adviser.look(stalled(0.30)).empty());
}

TEST_CASE("the worst comes first") {
  RunFacts facts = window();
  facts.plan->forecast = 100 * gib;
  facts.files->needed = 3000;
  CHECK(rules_of(advise(facts)) == Rules{"memory-forecast", "file-limit", "compute-bound"});
}

TEST_CASE("nothing of the input is said to a run whose GPU sets the pace") {
  RunFacts facts = window();
  facts.budget.wall_s = 50.0;
  facts.budget.copy_s = 3.0;
  CHECK(said(10, facts).has_value());
  CHECK(rules_of(advise(facts)) == Rules{"compute-bound"});
}

TEST_CASE("who takes the CPU is said in place of threads and dear steps") {
  CHECK(rules_of(advise(slow_decode())) == Rules{"raise-threads"});
  CHECK(rules_of(advise(with_hog(slow_decode()))) == Rules{"cpu-shared"});
  // With cores to spare it is no hindrance.
  RunFacts spare = with_hog(slow_decode());
  spare.machine->machine_share = 0.5;
  CHECK(rules_of(advise(spare)) == Rules{"raise-threads", "cpu-shared"});
  // Nor to threads that sleep and are woken at once.
  RunFacts asleep = with_hog(slow_decode());
  asleep.threads = LoaderThreadTimes{};
  CHECK(rules_of(advise(asleep)) == Rules{"raise-threads", "cpu-shared"});
  // More of those that work would find no core either, though these have one each.
  RunFacts at_work = asleep;
  for (const StageLoad& stage : at_work.load.stages)
    if (stage.role == StageRole::worker) at_work.threads->workers.cpu_s += 0.95 * stage.busy_s;
  CHECK(rules_of(advise(at_work)) == Rules{"cpu-shared"});
}

TEST_CASE("threads are added to a run whose own cores are free, however full the others") {
  RunFacts facts = slow_decode();
  facts.machine->cores = 8;
  facts.machine->outside = 56;
  facts.machine->others = {{.pid = 4711, .name = "python", .cores = 50.0}};
  facts.machine->machine_share = 0.95;
  CHECK(rules_of(advise(facts)) == Rules{"raise-threads"});
  facts.machine->machine_share = 0.99;
  CHECK(rules_of(advise(facts)).empty());
}

TEST_CASE("no threads are added to a full CPU") {
  RunFacts full = slow_decode();
  full.machine->process_share = 0.95;
  CHECK(rules_of(advise(full)) == Rules{"cheaper-step"});
}

TEST_CASE("chunks that do not fit are said in place of threads for their reads") {
  RunFacts facts = window({.read_s = 0.012, .gpu_busy = 0.5});
  facts.machine->io_pressure = 0.5;
  facts.machine->read_from_disk_per_s = 60e6;
  CHECK(rules_of(advise(facts)) == Rules{"faster-storage"});
  facts.reads = ReadFacts{.bytes_read = 80e9, .bytes_used = 10e9};
  CHECK(rules_of(advise(facts)) == Rules{"chunk-shape"});
}

TEST_CASE("a slow sample is said in place of a larger reserve for nothing in particular") {
  RunFacts facts = with_stall(window({.gpu_busy = 0.5}), 0.4);
  CHECK(rules_of(advise(facts)) == Rules{"raise-prefetch"});
  facts.reorder_wait_s = 0.6 * facts.load.consumer_wait_s;
  CHECK(rules_of(advise(facts)) == Rules{"slow-sample"});
}

TEST_CASE("a run on the wrong device is told that alone") {
  RunFacts facts = slow_decode(0.0);
  facts.gpu->our_context = false;
  facts.allocator.reset();
  CHECK(rules_of(advise(facts)) == Rules{"gpu-unused"});
}

TEST_CASE("a GPU that fell behind its own best is seen over the windows") {
  Adviser adviser;
  RunFacts before = window({.gpu_busy = 0.8});
  RunFacts after = window({.gpu_busy = 0.6});
  after.machine->machine_share = 0.7;
  CHECK(adviser.look(before).empty());
  CHECK(adviser.look(after).empty());  // patience
  CHECK(rules_of(adviser.look(after)) == Rules{"noisy-loader"});
}

TEST_CASE("a starved GPU names its cause among six, and why the others are none") {
  struct Starved {
    RunFacts facts;
    const char* rule;
    const char* cause;
  };
  RunFacts launches = window({.gpu_busy = 0.17});
  launches.host_launch_wait_s = 0.8 * launches.budget.wall_s;
  RunFacts small = launches;
  small.gpu->memory_peak = 10 * gib;
  RunFacts slow_disk = window({.read_s = 0.012, .gpu_busy = 0.17});
  slow_disk.machine->io_pressure = 0.5;
  slow_disk.machine->read_from_disk_per_s = 60e6;
  const Starved cases[] = {
      {slow_decode(0.17), "raise-threads", "the cause: too few workers: decode holds"},
      {with_stall(window({.gpu_busy = 0.17}), 0.4), "raise-prefetch",
       "the cause: too few batches ahead"},
      {slow_disk, "faster-storage", "the cause: storage: storage is slow"},
      {launches, "launch-gaps", "the cause: launch gaps: the GPU waits for launches"},
      {small, "launch-gaps", "the cause: the batch is too small: the GPU waits for launches"},
      {with_hog(slow_decode(0.17)), "cpu-shared", "the cause: contention for the CPU: hog 7"}};
  for (const Starved& one : cases) {
    CAPTURE(one.cause);
    const std::vector<Advice> all = advise(one.facts);
    REQUIRE(all.size() == 1);
    const Advice& advice = all.front();
    CAPTURE(advice.verdict);
    CHECK(advice.rule == one.rule);
    CHECK(advice.severity == Severity::warning);
    CHECK(has(advice.verdict, "the GPU is busy 17 % of the time; " + std::string(one.cause)));
    CHECK(has(advice.verdict, "; not "));
    CHECK(advice.evidence.size() >= 3);
  }
}

TEST_CASE("what is not the cause of a starved GPU is said with its value") {
  const std::string verdict = advise(slow_decode(0.17)).front().verdict;
  for (const char* part : {"training.batch 64: data are waited for 17 % of the time",
                           "data.prefetch 4: ", "storage: read can do 4.00 k samples/s, ",
                           "launch gaps: ", "CPU: 32 % of the machine is busy"})
    CHECK_MESSAGE(has(verdict, part), verdict);
  CHECK_FALSE(has(verdict, "threads.loader 8"));
}

TEST_CASE("what takes a small part of the idle time is not its cause") {
  const auto cause = [](const RunFacts& facts) {
    for (const Advice& advice : advise(facts))
      if (has(advice.verdict, "the cause: ")) return advice.rule + ": " + advice.verdict;
    return std::string();
  };
  RunFacts facts = window({.gpu_busy = 0.12});
  facts.reads = ReadFacts{.bytes_read = 104e9, .bytes_used = 10e9};
  CHECK_MESSAGE(has(cause(facts),
                    "launch-gaps: the GPU is busy 12 % of the time; the cause: "
                    "launch gaps"),
                cause(facts));
  facts.budget.copy_s = 0.04 * facts.budget.wall_s;
  CHECK(has(cause(facts), "the cause: launch gaps"));
  facts.gpu->others = {"python 4711 (12 GiB)"};
  CHECK(has(cause(facts), "the cause: launch gaps"));
  facts.budget.copy_s = 0.5 * facts.budget.wall_s;
  CHECK(has(cause(facts), "exposed-copies: "));
}

TEST_CASE("a rule that does not speak yet takes the place of none") {
  Adviser adviser;
  adviser.look(window({.gpu_busy = 0.8}));
  RunFacts after = window({.gpu_busy = 0.2});
  after.machine->machine_share = 0.6;
  const std::vector<Advice> now = adviser.look(after);
  REQUIRE(rules_of(now) == Rules{"launch-gaps"});
  CHECK_MESSAGE(has(now.front().verdict, "the GPU waits for launches"), now.front().verdict);
  CHECK(rules_of(adviser.look(after)) == Rules{"noisy-loader"});
}

TEST_CASE("an idle GPU that a rule explains which does not speak yet is not sent to the doctor") {
  Adviser adviser;
  adviser.look(window({.gpu_busy = 0.8}));
  RunFacts after = window({.gpu_busy = 0.2});
  after.machine->machine_share = 0.6;
  after.host_launch_wait_s = 0.0;
  CHECK(adviser.look(after).empty());
  CHECK(rules_of(adviser.look(after)) == Rules{"noisy-loader"});
}

TEST_CASE("a GPU is starved below 30 % busy in most of the samples") {
  CHECK_FALSE(has(advise(slow_decode(0.30)).front().verdict, "the cause"));
  CHECK(has(advise(slow_decode(0.29)).front().verdict, "the cause"));
  RunFacts at_times = slow_decode(0.29);
  at_times.gpu->idle_samples_share = 0.5;
  CHECK_FALSE(has(advise(at_times).front().verdict, "the cause"));
  at_times.gpu->idle_samples_share = 0.51;
  CHECK(has(advise(at_times).front().verdict, "the cause"));
}

TEST_CASE(
    "a starved GPU that no rule explains is sent to the doctor, one that cannot tell is not") {
  RunFacts facts = window({.gpu_busy = 0.2});
  facts.host_launch_wait_s = 0.0;
  const std::vector<Advice> all = advise(facts);
  REQUIRE(all.size() == 1);
  CHECK(all.front().setting == "headrace doctor");
  CHECK(has(all.front().verdict, "no rule explains it"));
  facts.budget.steps = 4;
  judge_again(facts);
  CHECK(advise(facts).empty());
}
