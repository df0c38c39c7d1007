// Rules 1, 7, 8, 10, 18: the GPU.
#include <headrace/monitor/advice/adviser.h>
#include <headrace/monitor/system/file_limits.h>
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

RunFacts on_cpu() {
  RunFacts facts = window();
  facts.budget.on_gpu = false;
  facts.no_gpu = "libnvidia-ml.so.1 is not there";
  facts.gpu.reset();
  return facts;
}

// 80 of a step's 100 ms nothing is queued.
RunFacts many_small_kernels() {
  RunFacts facts = window({.gpu_busy = 0.20});
  facts.host_launch_wait_s = 0.75 * facts.budget.wall_s;
  facts.gpu->memory_peak = 10 * gib;
  return facts;
}

RunFacts with_copies(double share) {
  RunFacts facts = window();
  facts.budget.wall_s = 100.0;
  facts.budget.copy_s = 100.0 * share;
  return facts;
}

}  // namespace

TEST_CASE("rule 1 is an error: the training runs on the CPU, and why") {
  const Advice advice = whole(1, on_cpu());
  CHECK(advice.severity == Severity::error);
  CHECK(has(advice.verdict, "runs on the CPU though a GPU is configured: libnvidia-ml.so.1"));
  CHECK(advice.setting == "device");
  CHECK(advice.old_value == "auto");
  CHECK(advice.new_value == "cuda");
  CHECK_FALSE(speaks(1, window()));
  RunFacts unwanted = on_cpu();
  unwanted.gpu_wanted = false;
  CHECK_FALSE(speaks(1, unwanted));
}

TEST_CASE("rule 1 speaks of a card below 1 % without a process of ours, after the first step") {
  RunFacts facts = window({.gpu_busy = 0.01});
  facts.gpu->our_context = false;
  facts.allocator.reset();
  CHECK_FALSE(speaks(1, facts));
  facts.gpu->busy_share = 0.0099;
  CHECK(speaks(1, facts));
  facts.gpu->our_context = true;
  CHECK_FALSE(speaks(1, facts));
  facts.gpu->our_context = false;
  facts.budget.steps = 0;
  CHECK_FALSE(speaks(1, facts));
}

TEST_CASE("rule 1 believes the allocator where the driver lists no process of ours") {
  RunFacts facts = window({.gpu_busy = 0.005});
  facts.gpu->our_context = false;  // as in a container
  CHECK_FALSE(speaks(1, facts));
  CHECK(has(advise(facts).front().verdict, "the GPU is busy 0.5 % of the time; the cause"));
  facts.allocator->peak = 0;
  CHECK(speaks(1, facts));
}

TEST_CASE("rule 1 proposes no cuda to who has it, and says why auto took the CPU") {
  RunFacts facts = window({.gpu_busy = 0.0});
  facts.gpu->our_context = false;
  facts.allocator.reset();
  facts.settings.device = "cuda";
  CHECK(whole(1, facts).setting == "nvidia-smi");
  facts.settings.device = "auto";
  facts.budget.on_gpu = false;
  facts.no_gpu = "LibTorch finds no GPU it can use";
  const std::string verdict = whole(1, facts).verdict;
  CHECK_MESSAGE(has(verdict, "though a GPU is there: LibTorch finds no GPU it can use"), verdict);
}

TEST_CASE("rule 7 doubles a batch whose launches cost more than its kernels") {
  const Advice advice = whole(7, many_small_kernels());
  CHECK(advice.rule == "launch-gaps");
  CHECK(advice.setting == "training.batch");
  CHECK(advice.old_value == "64");
  CHECK(advice.new_value == "128");
  CHECK(advice.effect == "640 -> 1.07 k samples/s, GPU busy 20 % -> 33 %");
  RunFacts accumulated = many_small_kernels();
  accumulated.settings.accumulation = 4;
  CHECK(has(whole(7, accumulated).action, "training.accumulation 4 -> 2"));
  CHECK_FALSE(speaks(7, window()));
}

TEST_CASE("rule 7 leaves cores to the launching thread where the machine is busy") {
  RunFacts facts = many_small_kernels();
  facts.settings.torch_threads = 16;
  facts.machine->machine_share = 0.40;
  CHECK(whole(7, facts).setting == "training.batch");
  facts.machine->machine_share = 0.41;
  CHECK(whole(7, facts).setting == "threads.torch");
  CHECK(whole(7, facts).new_value == "4");
}

TEST_CASE("rule 7 does not fill a GPU that is half full already") {
  RunFacts facts = many_small_kernels();
  facts.gpu->memory_peak = 40 * gib;
  CHECK(whole(7, facts).setting == "headrace doctor");
  facts.gpu->memory_peak = 40 * gib - 1;
  CHECK(whole(7, facts).setting == "training.batch");
}

TEST_CASE("rule 7 speaks below 50 % busy, below 5 % of waiting, from 15 % of gaps on") {
  RunFacts facts = many_small_kernels();
  facts.gpu->busy_share = 0.50;
  CHECK_FALSE(speaks(7, facts));
  facts.gpu->busy_share = 0.49;
  CHECK(speaks(7, facts));
  facts.budget.wall_s = 100.0;
  facts.host_launch_wait_s = 14.9;
  CHECK_FALSE(speaks(7, facts));
  facts.host_launch_wait_s = 15.0;
  CHECK(speaks(7, facts));
  CHECK(speaks(7, with_stall(facts, 0.049)));
  CHECK_FALSE(speaks(7, with_stall(facts, 0.05)));
}

TEST_CASE("rule 7 goes by what nothing else explains where the gaps are not measured") {
  RunFacts facts = many_small_kernels();
  facts.host_launch_wait_s = -1.0;
  CHECK(has(whole(7, facts).verdict, "neither data nor copies explain"));
  facts.gpu->busy_share = 0.299;
  CHECK(speaks(7, facts));
  facts.gpu->busy_share = 0.30;
  CHECK_FALSE(speaks(7, facts));
  facts.gpu.reset();
  CHECK_FALSE(speaks(7, facts));
}

TEST_CASE("rule 8 says that the GPU sets the pace, and what the input has in reserve") {
  const Advice advice = whole(8, window());
  CHECK(advice.severity == Severity::info);
  CHECK(advice.verdict == "the GPU sets the pace; the input could give 2.5 times as much");
  CHECK(advice.setting.empty());
  CHECK_FALSE(has(advice.line(), "("));
  CHECK_FALSE(speaks(8, window({.gpu_busy = 0.5})));
}

TEST_CASE("rule 8 speaks from 90 % busy on, below 5 % of waiting") {
  CHECK_FALSE(speaks(8, window({.gpu_busy = 0.899})));
  CHECK(speaks(8, window({.gpu_busy = 0.90})));
  CHECK(speaks(8, with_stall(window(), 0.049)));
  CHECK_FALSE(speaks(8, with_stall(window(), 0.05)));
}

TEST_CASE("rule 10 names memory that is not page-locked, else more batches for the copies") {
  RunFacts facts = with_copies(0.2);
  CHECK(whole(10, facts).setting == "data.prefetch");
  facts.page_locked = false;
  facts.files->locked_limit = 8 * mib;
  facts.files->locked_needed = 512 * mib;
  const Advice advice = whole(10, facts);
  CHECK(advice.setting == "ulimit -l");
  CHECK(advice.old_value == "8192 KiB");
  CHECK(advice.new_value == "524288 KiB");
  CHECK(advice.effect == "copies 20 % -> below 3.0 %, 640 -> 800 samples/s");
  CHECK_FALSE(speaks(10, window()));
}

TEST_CASE("rule 10 speaks above 3 % of copies, and warns above 20 %") {
  CHECK_FALSE(speaks(10, with_copies(0.03)));
  CHECK(whole(10, with_copies(0.031)).severity == Severity::notice);
  CHECK(whole(10, with_copies(0.20)).severity == Severity::notice);
  CHECK(whole(10, with_copies(0.21)).severity == Severity::warning);
  RunFacts cpu = with_copies(0.2);
  cpu.budget.on_gpu = false;
  CHECK_FALSE(speaks(10, cpu));
}

TEST_CASE("rule 10 asks for fewer bytes where the transfer is the slowest stage") {
  const Advice advice = whole(10, window({.transfer_s = 0.003}));
  CHECK(advice.rule == "smaller-transfer");
}

TEST_CASE("rule 18 says power or cooling, not code, with clocks") {
  RunFacts facts = window();
  facts.gpu->throttled = {"power cap"};
  facts.gpu->sm_clock_mhz = 1100.0;
  facts.gpu->most_sm_clock_mhz = 1980.0;
  const Advice advice = whole(18, facts);
  CHECK(has(advice.verdict, "slows itself down (power cap): power or cooling, not code"));
  CHECK(has(advice.setting, "nvidia-smi"));
  CHECK(has(advice.effect, "up to 1.80 times"));
  CHECK_FALSE(speaks(18, window()));
}

TEST_CASE("rule 18 speaks without a reason from 90 degrees on") {
  RunFacts facts = window();
  facts.gpu->temperature_c = 89.0;
  CHECK_FALSE(speaks(18, facts));
  facts.gpu->temperature_c = 90.0;
  CHECK(said(18, facts).has_value());
}

TEST_CASE("rule 7 says where twice the batch changes what a step learns from") {
  RunFacts facts = many_small_kernels();
  facts.settings.accumulation = 3;
  CHECK(has(whole(7, facts).action, "the effective batch changes"));
  facts.settings.accumulation = 2;
  CHECK(has(whole(7, facts).action, "for the same effective batch"));
}

TEST_CASE("rule 7 proposes no batch that the records do not fill") {
  RunFacts facts = many_small_kernels();
  facts.records->records = 128;
  CHECK(whole(7, facts).setting == "training.batch");
  facts.records->records = 127;
  CHECK(whole(7, facts).setting == "headrace doctor");
}

TEST_CASE("rule 10 raises no limit of locked memory that is not set") {
  RunFacts facts = with_copies(0.2);
  facts.page_locked = false;
  facts.files->locked_limit = no_limit;
  CHECK(whole(10, facts).setting == "data.prefetch");
  facts.files->locked_limit = 8 * mib;
  facts.files->locked_needed = 8 * mib;
  CHECK(whole(10, facts).setting == "data.prefetch");
  facts.files->locked_needed = 9 * mib;
  CHECK(whole(10, facts).setting == "ulimit -l");
}

TEST_CASE("rule 10 predicts no pace from steps that were too few, and none without an end") {
  RunFacts facts = with_copies(0.2);
  facts.budget.steps = 3;
  judge_again(facts);
  CHECK(whole(10, facts).effect == "copies 20 % -> below 3.0 %");
  CHECK_FALSE(speaks(10, with_copies(1.0)));  // the clocks disagree
}

TEST_CASE("rule 18 says power without a limit that is not told") {
  RunFacts facts = window();
  facts.gpu->throttled = {"power limit"};
  facts.gpu->power_w = 250.0;
  CHECK(has(whole(18, facts).line(), "250 W"));
  CHECK_FALSE(has(whole(18, facts).line(), "-1 W"));
}
