// Rules 9, 19, 20, 24: the machine, its limits, other ranks.
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

RunFacts late_launches() {
  RunFacts facts = window({.gpu_busy = 0.60});
  facts.gpu->busy_before = 0.92;
  facts.machine->machine_share = 0.80;
  return facts;
}

RunFacts with_hog(double cores) {
  RunFacts facts = window();
  facts.machine->others = {{.pid = 4711, .name = "ffmpeg", .cores = cores}};
  return facts;
}

double busy_s(const RunFacts& facts, StageRole role) {
  double sum = 0.0;
  for (const StageLoad& stage : facts.load.stages)
    if (stage.role == role) sum += stage.busy_s;
  return sum;
}

RunFacts shared_gpu() {
  RunFacts facts = window();
  facts.gpu->others = {"python 4711 (12 GiB)"};
  facts.gpu->others_memory = 12 * gib;
  return facts;
}

}  // namespace

TEST_CASE("rule 9 takes workers away from a busy machine whose GPU is launched late") {
  const Advice advice = whole(9, late_launches());
  CHECK(advice.setting == "threads.loader");
  CHECK(advice.old_value == "8");
  CHECK(advice.new_value == "4");  // what 640 samples/s need, a tenth more
  CHECK(has(advice.effect, "GPU busy 60 % -> 92 %"));
  RunFacts few = late_launches();
  few.settings.loader_threads = 1;
  CHECK(whole(9, few).setting == "taskset -cp");
  CHECK_FALSE(speaks(9, window()));
}

TEST_CASE("rule 9 speaks above 40 % of the machine's CPU and of a fall by a tenth") {
  RunFacts facts = late_launches();
  facts.machine->machine_share = 0.40;
  CHECK_FALSE(speaks(9, facts));
  facts.machine->machine_share = 0.41;
  CHECK(speaks(9, facts));
  facts.gpu->busy_before = 1.0;
  facts.gpu->busy_share = 0.901;
  CHECK_FALSE(speaks(9, facts));
  facts.gpu->busy_share = 0.899;
  CHECK(speaks(9, facts));
  facts.gpu->busy_before = -1.0;
  CHECK_FALSE(speaks(9, facts));
}

TEST_CASE("rule 19 names who else uses the cores, as a warning where it does harm") {
  const Advice advice = whole(19, with_hog(8.0));
  CHECK(advice.rule == "cpu-shared");
  CHECK(advice.severity == Severity::notice);
  CHECK(has(advice.verdict, "ffmpeg 4711 (8.0 cores)"));
  CHECK(advice.setting == "renice -n 19 -p 4711");
  RunFacts harm = with_stall(with_hog(8.0), 0.3);
  harm.machine->machine_share = 0.69;
  CHECK(whole(19, harm).severity == Severity::notice);
  harm.machine->machine_share = 0.70;
  CHECK(whole(19, harm).severity == Severity::warning);
  CHECK_FALSE(speaks(19, window()));
}

TEST_CASE("rule 19 is no warning where the loader's threads sleep: nobody takes their cores") {
  RunFacts facts = with_stall(with_hog(8.0), 0.3);
  facts.machine->machine_share = 0.95;
  double busy = 0.0;
  for (const StageRole role : {StageRole::worker, StageRole::io, StageRole::transfer})
    busy += busy_s(facts, role);
  const double at_once = busy / facts.load.elapsed_s;
  facts.machine->process_share = 0.04 * at_once / facts.machine->cores;
  CHECK(whole(19, facts).severity == Severity::notice);
  facts.machine->process_share = 0.06 * at_once / facts.machine->cores;
  CHECK(whole(19, facts).severity == Severity::warning);
}

TEST_CASE("rule 19 goes by what workers wait for, where they are the pool that is waited for") {
  RunFacts facts = window({.decode_s = 0.0139});
  facts.machine = with_hog(8.0).machine;
  facts.machine->machine_share = 0.95;
  facts.machine->process_share = 0.4;  // the trainer's own
  const auto severity = [&](double on_core, double queued) {
    const double busy = busy_s(facts, StageRole::worker);
    facts.threads =
        LoaderThreadTimes{.workers = {.cpu_s = on_core * busy, .queued_s = queued * busy}};
    return whole(19, facts).severity;
  };
  CHECK(severity(0.91, 0.09) == Severity::notice);
  CHECK(severity(0.88, 0.11) == Severity::warning);
  CHECK(has(whole(19, facts).evidence.back().shown, "the workers waited for a core at least 11 %"));
  // Asleep for the rest of the time.
  CHECK(severity(0.36, 0.31) == Severity::notice);
  CHECK(severity(0.36, 0.33) == Severity::warning);
  CHECK(severity(0.0, 0.0) == Severity::notice);
  // Those that have no work may have queued as they looked for some: half as long as they had it.
  facts.load.elapsed_s *= 1.5;
  CHECK(severity(0.5, 0.5) == Severity::notice);
  CHECK(severity(0.5, 0.65) == Severity::warning);
}

TEST_CASE("rule 19 guesses by the process where workers are not what is waited for") {
  RunFacts facts = window({.read_s = 0.012});
  facts.machine = with_hog(8.0).machine;
  facts.machine->machine_share = 0.95;
  REQUIRE(facts.verdict.stages.front().role == StageRole::io);
  facts.threads = LoaderThreadTimes{};
  facts.machine->process_share = 0.4;
  CHECK(whole(19, facts).severity == Severity::warning);
  facts.machine->process_share = 0.0;
  CHECK(whole(19, facts).severity == Severity::notice);
}

TEST_CASE("rule 19 speaks from a fifth of the cores on") {
  RunFacts facts = with_hog(1.9);
  facts.machine->cores = 10;
  CHECK_FALSE(speaks(19, facts));
  facts.machine->others.front().cores = 2.0;
  CHECK(speaks(19, facts));
}

TEST_CASE("rule 19 names who else is on the GPU, from 5 % of its memory on") {
  RunFacts facts = shared_gpu();
  const Advice advice = whole(19, facts);
  CHECK(advice.rule == "gpu-shared");
  CHECK(has(advice.verdict, "python 4711 (12 GiB) uses the same GPU"));
  facts.gpu->others_memory = 4 * gib - 1;
  CHECK_FALSE(speaks(19, facts));
  facts.gpu->others_memory = 4 * gib;
  CHECK(speaks(19, facts));
  facts.gpu->others_memory = 0;  // not told
  CHECK(speaks(19, facts));
  facts.gpu->our_context = false;  // then the list says nothing
  CHECK_FALSE(speaks(19, facts));
}

TEST_CASE("rule 20 gives the limit of open files and the command") {
  RunFacts facts = window();
  facts.files->needed = 3000;
  const Advice advice = whole(20, facts);
  CHECK(advice.rule == "file-limit");
  CHECK(advice.setting == "ulimit -n");
  CHECK(advice.old_value == "1024");
  CHECK(advice.new_value == "3000");
  facts.files->needed = 5000;
  CHECK(has(whole(20, facts).action, "the hard limit of 4096"));
  CHECK_FALSE(speaks(20, window()));
}

TEST_CASE("rule 20 speaks above the limit, and above 80 % of it in use") {
  RunFacts facts = window();
  facts.files->needed = 1024;
  CHECK_FALSE(speaks(20, facts));
  facts.files->needed = 1025;
  CHECK(speaks(20, facts));
  facts.files->needed = 0;
  facts.files->limit = 1000;
  facts.files->open = 800;
  CHECK_FALSE(speaks(20, facts));
  facts.files->open = 801;
  CHECK(speaks(20, facts));
}

TEST_CASE("rule 20 looks at locked and at shared memory, too") {
  RunFacts facts = window();
  facts.files->locked_limit = 8 * mib;
  facts.files->locked_needed = 8 * mib;
  CHECK_FALSE(speaks(20, facts));
  facts.files->locked_needed += 1;
  CHECK(said(20, facts)->setting == "ulimit -l");
  facts.files->locked_needed = 0;
  facts.files->shared_room = 64 * mib;
  facts.files->shared_needed = 64 * mib;
  CHECK_FALSE(speaks(20, facts));
  facts.files->shared_needed = 128 * mib;
  const Advice advice = whole(20, facts);
  CHECK(advice.rule == "shared-memory");
  CHECK(advice.old_value == "65536 KiB");
}

TEST_CASE("rule 24 names the rank that holds the others back, and its slow stage") {
  RunFacts facts = window();
  facts.rank_readiness = {0.97, 0.96, 0.02, 0.99};
  facts.rank_stages = {"", "", "read", ""};
  const Advice advice = whole(24, facts);
  CHECK(advice.verdict == "rank 2 holds all others back: its slowest stage is read");
  CHECK(has(advice.effect, "readiness of rank 2 2.0 % -> 97 %"));
  CHECK_FALSE(speaks(24, window()));
}

TEST_CASE("rule 24 speaks below half of the time, where the middle rank has 80 %") {
  RunFacts facts = window();
  facts.rank_readiness = {0.50, 0.95, 0.95};
  CHECK_FALSE(speaks(24, facts));
  facts.rank_readiness = {0.49, 0.95, 0.95};
  CHECK(speaks(24, facts));
  facts.rank_readiness = {0.49, 0.80, 0.95};
  CHECK(speaks(24, facts));
  facts.rank_readiness = {0.49, 0.79, 0.95};
  CHECK_FALSE(speaks(24, facts));
  facts.rank_readiness = {0.1};
  CHECK_FALSE(speaks(24, facts));
}

TEST_CASE("rule 19 does not say that others use more cores than there are") {
  const std::string line = whole(19, with_hog(24.0)).line();
  CHECK_MESSAGE(has(line, "others use 24.0 cores, this run may use 16"), line);
}

TEST_CASE("rule 19 says nothing of memory that the driver does not tell") {
  RunFacts facts = shared_gpu();
  facts.gpu->others_memory = 0;
  const Advice advice = whole(19, facts);
  CHECK(advice.rule == "gpu-shared");
  CHECK_FALSE(has(advice.line(), "0 B"));
}

TEST_CASE("rule 19 leaves others the cores that the run may not use") {
  RunFacts facts = with_stall(with_hog(50.0), 0.3);
  facts.machine->cores = 8;
  facts.machine->outside = 56;
  facts.machine->machine_share = 0.95;
  CHECK_FALSE(speaks(19, facts));
  facts.machine->others.front().cores = 57.0;
  CHECK_FALSE(speaks(19, facts));
  facts.machine->others.front().cores = 58.0;
  const std::string line = whole(19, facts).line();
  CHECK_MESSAGE(has(line, "others use 2.0 cores of its own, this run may use 8"), line);
  CHECK(whole(19, facts).severity == Severity::notice);  // of its own at least 60 % are busy
  facts.machine->machine_share = 0.97;
  CHECK(whole(19, facts).severity == Severity::warning);
}
