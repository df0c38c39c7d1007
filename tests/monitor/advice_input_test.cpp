// Rules 2, 3, 11, 12: the loader's threads, work and order.
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

// 533 samples/s of the 640 that are asked for.
RunFacts slow_decode_facts() {
  return window({.decode_s = 0.0139});
}

// Ready batches behind one that is not, in a pool that sleeps.
RunFacts held_line() {
  RunFacts facts = with_stall(window(), 0.4);
  facts.reorder_wait_s = 0.6 * facts.load.consumer_wait_s;
  facts.batches = BatchFacts{.slowest = {"img/4711.jpg (1.2 s)"}};
  return facts;
}

RunFacts uneven() {
  RunFacts facts = with_stall(window(), 0.2);
  facts.batches = BatchFacts{.mean_s = 0.1, .sd_s = 0.03, .size_correlation = 0.8};
  return facts;
}

}  // namespace

TEST_CASE("rule 2 raises the workers of a stage whose threads are full while CPU is free") {
  const Advice advice = whole(2, slow_decode_facts());
  CHECK(advice.rule == "raise-threads");
  CHECK(advice.verdict == "decode holds the loader back");
  CHECK(advice.setting == "threads.loader");
  CHECK(advice.old_value == "8");
  CHECK(advice.new_value == "11");
  CHECK(has(advice.effect, "533 -> 640 samples/s, data stall 17 % -> "));
}

TEST_CASE("rule 2 raises the threads that reads wait on where reads are slow") {
  const Advice advice = whole(2, window({.read_s = 0.012}));
  CHECK(advice.rule == "raise-io-threads");
  CHECK(advice.setting == "threads.io");
  CHECK(advice.old_value == "4");
}

TEST_CASE("rule 2 keeps more batches ahead where the pool has the pace but not the reserve") {
  const Advice advice = whole(2, with_stall(window(), 0.1));
  CHECK(advice.rule == "raise-prefetch");
  CHECK(advice.setting == "data.prefetch");
  CHECK(advice.old_value == "4");
  CHECK(advice.new_value == "8");
  RunFacts most = with_stall(window(), 0.1);
  most.settings.prefetch = 64;
  CHECK_FALSE(speaks(2, most));
}

TEST_CASE("rule 2 is silent below 5 % of waiting and speaks from there on") {
  CHECK_FALSE(speaks(2, window()));
  CHECK_FALSE(speaks(2, with_stall(slow_decode_facts(), 0.049)));
  CHECK(speaks(2, with_stall(slow_decode_facts(), 0.05)));
  CHECK(whole(2, with_stall(slow_decode_facts(), 0.20)).severity == Severity::notice);
  CHECK(whole(2, with_stall(slow_decode_facts(), 0.21)).severity == Severity::warning);
}

TEST_CASE("rule 2 takes threads that are below 90 % busy for a missing reserve") {
  RunFacts facts = slow_decode_facts();
  const double capacity = facts.verdict.stages.front().capacity;
  const auto with_occupancy = [&](double share, double stall) {
    RunFacts changed = facts;
    changed.load.delivered = static_cast<std::uint64_t>(share * capacity * 100.0);
    return with_stall(changed, stall);
  };
  CHECK(said(2, with_occupancy(0.88, 0.1))->rule == "raise-prefetch");
  CHECK(said(2, with_occupancy(0.91, 0.1))->rule == "raise-threads");
  // A full pool would give 1 / 0.86 times as much, a fast one 0.86 / 0.75 times.
  CHECK(said(2, with_occupancy(0.86, 0.25))->rule == "raise-prefetch");
  CHECK(said(2, with_occupancy(0.87, 0.25))->rule == "raise-threads");
  CHECK(said(2, with_occupancy(0.78, 0.94))->rule == "raise-threads");
  CHECK(has(whole(2, with_occupancy(0.5, 0.6)).effect, "data stall 60 % -> below 20 %"));
}

TEST_CASE("rule 2 leaves the workers to rule 3 from 90 % of the CPU on") {
  RunFacts facts = slow_decode_facts();
  facts.machine->process_share = 0.89;
  CHECK(speaks(2, facts));
  CHECK_FALSE(speaks(3, facts));
  facts.machine->process_share = 0.90;
  CHECK_FALSE(speaks(2, facts));
  CHECK(speaks(3, facts));
}

TEST_CASE("rule 2 adds no workers to those that wait for cores that others have taken") {
  RunFacts facts = slow_decode_facts();
  facts.machine->process_share = 0.4;
  facts.machine->machine_share = 0.89;
  CHECK(speaks(2, facts));
  facts.machine->machine_share = 0.90;
  CHECK_FALSE(speaks(2, facts));
  facts.machine->process_share = 0.01;  // they sleep
  CHECK(speaks(2, facts));
}

TEST_CASE("rule 3 keeps what is decoded, in memory or on disk by what there is room for") {
  RunFacts facts = slow_decode_facts();
  facts.machine->process_share = 0.97;
  const Advice advice = whole(3, facts);
  CHECK(advice.setting == "data.cache.memory");
  CHECK(advice.old_value == "0B");
  CHECK(advice.new_value == "30GiB");
  CHECK(has(advice.action, "more threads will not help"));
  CHECK(has(advice.verdict, "decode costs more than the cores have"));
  facts.settings.random_before_cache = {"rotate"};
  facts.machine->memory_room = 20 * gib;
  CHECK(whole(3, facts).setting == "data.cache.disk");
  CHECK(has(whole(3, facts).action, "behind rotate"));
  CHECK(has(whole(3, facts).action, "data.cache.folder has to name a folder"));
}

TEST_CASE("rule 3 keeps nothing of a decoder that draws, but tells how to make it draw nothing") {
  RunFacts facts = slow_decode_facts();
  facts.machine->process_share = 0.97;
  facts.settings.decode_draws = true;
  CHECK(whole(3, facts).setting == "decode time a sample");
  facts.settings.picture_resize = 256;
  facts.settings.keys = {"data.cache.memory", "image.resize"};
  const Advice advice = whole(3, facts);
  CHECK(advice.setting == "image.resize");
  CHECK(advice.old_value == "0");
  CHECK(advice.new_value == "256");
  CHECK(has(advice.action, "data.cache.memory"));
}

TEST_CASE("rule 3 decodes on a GPU that has time, where there is no cache or it is in use") {
  RunFacts facts = window({.decode_s = 0.0139, .gpu_busy = 0.6});
  facts.machine->process_share = 0.97;
  facts.settings.has_cache = true;
  CHECK(whole(3, facts).setting == "image.decode");
  facts.gpu->busy_share = 0.90;
  CHECK(whole(3, facts).setting == "decode time a sample");
  facts.gpu->busy_share = 0.89;
  CHECK(whole(3, facts).new_value == "cuda");
  facts.settings.decode_device = "";
  CHECK(whole(3, facts).setting == "decode time a sample");
}

TEST_CASE("rule 3 names the operation of augment that is too dear") {
  RunFacts facts = window({.augment_s = 0.02});
  facts.machine->process_share = 0.97;
  facts.settings.keys = {"augment", "threads.loader"};
  const Advice advice = whole(3, facts);
  CHECK(advice.setting == "augment");
  CHECK(advice.old_value == "augment 20.0 ms");
  CHECK_FALSE(speaks(3, window()));
}

TEST_CASE("rule 11 names the samples that hold the line and asks for more batches under way") {
  const Advice advice = whole(11, held_line());
  CHECK(advice.rule == "slow-sample");
  CHECK(advice.setting == "data.prefetch");
  CHECK(advice.old_value == "4");
  CHECK(advice.new_value == "8");
  CHECK(has(advice.action, "img/4711.jpg (1.2 s)"));
  CHECK_FALSE(speaks(11, window()));
}

TEST_CASE("rule 11 speaks above a quarter of the wait, of 5 % of the time or more") {
  RunFacts facts = held_line();
  facts.reorder_wait_s = 0.25 * facts.load.consumer_wait_s;
  CHECK_FALSE(speaks(11, facts));
  facts.reorder_wait_s = 0.26 * facts.load.consumer_wait_s;
  CHECK(speaks(11, facts));
  CHECK_FALSE(speaks(11, with_stall(facts, 0.049)));
  RunFacts full = slow_decode_facts();
  full.reorder_wait_s = full.load.consumer_wait_s;
  CHECK_FALSE(speaks(11, full));  // threads that are full are what is short
}

TEST_CASE("rule 11 asks for as many batches as the longest wait takes") {
  RunFacts facts = held_line();
  facts.budget.steps = 1000;  // of 100 ms
  facts.budget.wait_max_s = 1.95;
  CHECK(whole(11, facts).new_value == "24");
}

TEST_CASE("rule 12 tells batches that are slow because their samples are large") {
  const Advice advice = whole(12, uneven());
  CHECK(advice.setting == "headrace pack images --longest-side");
  CHECK_FALSE(speaks(12, window()));
  RunFacts arrays = uneven();
  arrays.settings.decode_device = "";
  CHECK(whole(12, arrays).setting == "data.prefetch");
}

TEST_CASE("rule 12 speaks above 15 % of spread and from a correlation of a half on") {
  RunFacts facts = uneven();
  facts.batches->mean_s = 1.0;
  facts.batches->sd_s = 0.15;
  CHECK_FALSE(speaks(12, facts));
  facts.batches->sd_s = 0.151;
  CHECK(speaks(12, facts));
  facts.batches->size_correlation = 0.49;
  CHECK_FALSE(speaks(12, facts));
  facts.batches->size_correlation = 0.50;
  CHECK(speaks(12, facts));
  CHECK_FALSE(speaks(12, with_stall(facts, 0.0)));
}

TEST_CASE("rule 3 proposes no cache whose size nobody knows") {
  RunFacts facts = slow_decode_facts();
  facts.machine->process_share = 0.97;
  facts.machine->memory_room = 0;
  facts.settings.decoded_bytes = 0;
  CHECK(whole(3, facts).setting == "decode time a sample");
  facts.machine->memory_room = 20 * gib;
  CHECK(whole(3, facts).setting == "data.cache.memory");
  CHECK(whole(3, facts).new_value == "10GiB");
}

TEST_CASE("rule 12 asks for no more batches than can be kept") {
  RunFacts facts = uneven();
  facts.settings.decode_device = "";
  facts.settings.prefetch = 63;
  CHECK(whole(12, facts).new_value == "64");
  facts.settings.prefetch = 64;
  CHECK_FALSE(speaks(12, facts));
}
