// Rules 13 to 17: memory.
#include <headrace/monitor/memory/memory_judge.h>
#include <headrace/monitor/memory/memory_trend.h>
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

// Figures of so many epochs, through the trend that watches a run.
std::optional<RunFacts::Growth> growth_of(int epochs, std::uint64_t an_epoch) {
  MemoryTrend trend;
  for (int epoch = 1; epoch <= epochs; ++epoch)
    trend.add(epoch, 4 * gib + static_cast<std::uint64_t>(epoch) * an_epoch);
  return growth_facts(trend.growth(), "shared memory");
}

RunFacts leaking() {
  RunFacts facts = window();
  facts.epoch = 6;
  facts.epochs = 100;
  facts.process_growth = growth_of(6, gib);
  return facts;
}

RunFacts in_pieces() {
  RunFacts facts = window();
  facts.allocator = RunFacts::Allocator{.reserved = 72 * gib,
                                        .allocated = 20 * gib,
                                        .inactive_split = 30 * gib,
                                        .retries = 3,
                                        .peak = 40 * gib,
                                        .peak_reserved = 76 * gib};
  return facts;
}

RunFacts with_peak(std::uint64_t peak, double busy = 0.7) {
  RunFacts facts = window({.gpu_busy = busy});
  facts.limits.gpu = 100 * gib;
  facts.allocator->peak = peak;
  return facts;
}

}  // namespace

TEST_CASE("rule 13 names who holds the memory that grows, and when the limit is reached") {
  const Advice advice = whole(13, leaking());
  CHECK(has(advice.verdict, "most of it is held by shared memory"));
  CHECK(has(advice.effect,
            "+1.00 GiB an epoch -> 0; as it is the limit of 64.0 GiB is reached in "
            "epoch 60"));
  CHECK_FALSE(speaks(13, window()));
}

TEST_CASE("rule 13 takes the trend's word: nothing of a level, of too few epochs, of chance") {
  RunFacts facts = leaking();
  facts.process_growth = growth_of(6, 0);
  CHECK_FALSE(speaks(13, facts));
  facts.process_growth = growth_of(4, gib);  // the first epoch does not count
  CHECK_FALSE(speaks(13, facts));
  facts.process_growth = growth_of(5, gib);
  CHECK(speaks(13, facts));
  facts.process_growth->low = 0.0;
  CHECK_FALSE(speaks(13, facts));
  facts.process_growth->low = 1.0;
  CHECK(speaks(13, facts));
}

TEST_CASE("rule 14 tells tensors that are kept from what grows beside them") {
  RunFacts facts = leaking();
  std::swap(facts.process_growth, facts.tensor_growth);
  CHECK_FALSE(speaks(13, facts));
  const Advice advice = whole(14, facts);
  CHECK(has(advice.verdict, "tensors are kept from epoch to epoch"));
  CHECK(has(advice.effect, "the limit of 80.0 GiB"));
  CHECK_FALSE(speaks(14, window()));
  facts.tensor_growth->low = 0.0;
  CHECK_FALSE(speaks(14, facts));
  facts.tensor_growth->low = 1.0;
  CHECK(speaks(14, facts));
  facts.tensor_growth = growth_of(6, 0);
  CHECK_FALSE(speaks(14, facts));
}

TEST_CASE("what does not grow is no room for what does") {
  RunFacts facts = leaking();
  facts.process_growth->most = 52 * gib;
  const Advice advice = whole(13, facts);
  CHECK(has(advice.effect, "the limit of 64.0 GiB is reached in epoch 18"));
  CHECK(has(advice.line(), "in all at most 52.0 GiB"));
}

TEST_CASE("growth that ends before its limit says so") {
  RunFacts facts = leaking();
  facts.epochs = 20;
  CHECK(has(whole(13, facts).effect, "the limit of 64.0 GiB is not reached in 20 epochs"));
  facts.limits.process = 0;
  CHECK(whole(13, facts).effect == "+1.00 GiB an epoch -> 0");
}

TEST_CASE("the judge of memory gives what rules 13 and 14 look at") {
  MemoryJudge judge;
  for (int epoch = 1; epoch <= 6; ++epoch) {
    const auto by = static_cast<std::uint64_t>(epoch) * gib;
    judge.after_training(epoch, 100,
                         {.allocated = gib, .process = {.anonymous = 4 * gib, .shared = by}}, {});
  }
  CHECK_FALSE(judge.tensor_growth());
  RunFacts facts = window();
  facts.process_growth = growth_facts(judge.process_growth(), judge.owner());
  CHECK(has(whole(13, facts).verdict, "held by shared memory, 2.00 GiB to 6.00 GiB"));
}

TEST_CASE("rule 15 lets segments grow where a GPU's memory is in pieces") {
  const Advice advice = whole(15, in_pieces());
  CHECK(advice.rule == "fragmented");
  CHECK(advice.setting == "export PYTORCH_CUDA_ALLOC_CONF");
  CHECK(advice.new_value == "expandable_segments:True");
  CHECK(has(advice.verdict, "a larger GPU is not what is missing"));
  CHECK_FALSE(speaks(15, window()));
}

TEST_CASE("rule 15 speaks after a retry, of more than a quarter unused or in pieces") {
  RunFacts facts = in_pieces();
  facts.allocator->retries = 0;
  CHECK_FALSE(speaks(15, facts));
  facts.allocator->retries = 1;
  CHECK(speaks(15, facts));
  facts.allocator = RunFacts::Allocator{
      .reserved = 40 * gib, .inactive_split = 10 * gib, .retries = 1, .peak = 30 * gib};
  CHECK_FALSE(speaks(15, facts));
  facts.allocator->inactive_split += 1;
  CHECK(speaks(15, facts));
  facts.allocator->inactive_split = 0;
  facts.allocator->peak -= 1;
  CHECK(speaks(15, facts));
}

TEST_CASE("rule 16 halves a batch that leaves no room, and finds a larger one where there is") {
  const Advice full = whole(16, with_peak(95 * gib));
  CHECK(full.rule == "gpu-nearly-full");
  CHECK(full.setting == "training.batch");
  CHECK(full.new_value == "32");
  CHECK(has(full.action, "training.accumulation 1 -> 2"));
  const Advice room = whole(16, with_peak(25 * gib));
  CHECK(room.rule == "gpu-memory-free");
  CHECK(room.severity == Severity::notice);
  CHECK(room.new_value == "230");
  CHECK(has(room.check, "headrace profile-memory --find-optimal"));
  CHECK_FALSE(speaks(16, window()));
}

TEST_CASE("rule 16 speaks above 90 % and below 50 % of the memory") {
  CHECK_FALSE(speaks(16, with_peak(90 * gib)));
  CHECK(speaks(16, with_peak(90 * gib + 1)));
  CHECK_FALSE(speaks(16, with_peak(50 * gib)));
  CHECK(speaks(16, with_peak(50 * gib - 1)));
}

TEST_CASE("rule 16 finds no larger batch for a GPU that has no time, or that waits for data") {
  CHECK(speaks(16, with_peak(25 * gib, 0.899)));
  CHECK_FALSE(speaks(16, with_peak(25 * gib, 0.90)));
  CHECK(speaks(16, with_stall(with_peak(25 * gib), 0.049)));
  CHECK_FALSE(speaks(16, with_stall(with_peak(25 * gib), 0.05)));
}

TEST_CASE("rule 17 is an error: the forecast is above the limit, and what shrinks it") {
  RunFacts facts = window();
  facts.plan = PlanFacts{.forecast = 96 * gib, .limit = 64 * gib, .largest = "slabs 40.0 GiB"};
  const Advice advice = whole(17, facts);
  CHECK(advice.severity == Severity::error);
  CHECK(has(advice.verdict, "most is slabs 40.0 GiB"));
  CHECK(advice.setting == "data.prefetch");
  facts.settings.keys = {"memory.fit"};
  CHECK(whole(17, facts).setting == "memory.fit");
  CHECK_FALSE(speaks(17, window()));
}

TEST_CASE("rule 17 lets a forecast of exactly the limit pass") {
  RunFacts facts = window();
  facts.plan = PlanFacts{.forecast = 64 * gib, .limit = 64 * gib};
  CHECK_FALSE(speaks(17, facts));
  facts.plan->forecast += 64 * mib;
  CHECK(speaks(17, facts));
  facts.plan->limit = 0;
  CHECK_FALSE(speaks(17, facts));
}

TEST_CASE("rule 16 does not halve a batch of one") {
  RunFacts facts = with_peak(95 * gib);
  facts.settings.batch = 1;
  CHECK(whole(16, facts).setting == "headrace profile-memory");
  facts.settings.batch = 2;
  CHECK(whole(16, facts).new_value == "1");
  CHECK(has(whole(16, facts).action, "for the same effective batch"));
  facts.settings.batch = 65;
  CHECK(has(whole(16, facts).action, "for nearly the same effective batch"));
}

TEST_CASE("rule 16 finds no batch that the records do not fill") {
  RunFacts facts = with_peak(10 * mib);
  CHECK(whole(16, facts).new_value == "32000");
  facts.records->records = 64;
  CHECK_FALSE(speaks(16, facts));
}

TEST_CASE("rule 17 shrinks the batch where no fewer can be kept ahead") {
  RunFacts facts = window();
  facts.plan = PlanFacts{.forecast = 96 * gib, .limit = 64 * gib};
  facts.settings.prefetch = 1;
  CHECK(whole(17, facts).setting == "training.batch");
  CHECK(whole(17, facts).new_value == "32");
  facts.settings.batch = 1;
  CHECK(whole(17, facts).new_value == "smaller inputs");
}
