// Rules 4, 5, 6: storage, the page cache, chunks.
#include <headrace/monitor/advice/read_facts.h>
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

// Reads take 12 ms: 333 samples/s of 640.
RunFacts slow_disk() {
  RunFacts facts = window({.read_s = 0.012});
  facts.machine->io_pressure = 0.6;
  facts.machine->read_from_disk_per_s = 60e6;
  return facts;
}

RunFacts cold_again() {
  RunFacts facts = slow_disk();
  facts.epoch_seconds = {100.0, 98.0};
  facts.epoch = 2;
  facts.bytes_from_storage = 16.0 * gib;  // of 8 GiB
  return facts;
}

RunFacts wrong_chunks() {
  RunFacts facts = window({.read_s = 0.012});
  facts.reads = ReadFacts{.bytes_read = 80e9,
                          .bytes_used = 10e9,
                          .why = "chunks of 64x64x64 for patches of 16x128x128",
                          .setting = "headrace pack volumes --chunk",
                          .old_value = "64,64,64",
                          .new_value = "16,128,128"};
  return facts;
}

}  // namespace

TEST_CASE("rule 4 brings data nearer that a slow storage holds back") {
  RunFacts facts = slow_disk();
  const Advice advice = whole(4, facts);
  CHECK(advice.rule == "faster-storage");
  CHECK(advice.verdict == "storage is slow: read waits for it");
  CHECK(advice.setting == "data.cache.memory");
  CHECK(advice.new_value == "30GiB");
  CHECK(has(advice.effect, "333 -> 640 samples/s"));
  facts.settings.keys = {"data.stage"};
  CHECK(whole(4, facts).setting == "data.stage");
  CHECK(whole(4, facts).new_value == "a folder of a local disk");
  facts.machine->shared_room = 64 << 20;  // as a container has it
  CHECK(whole(4, facts).new_value == "a folder of a local disk");
  facts.machine->shared_room = 9 * gib;
  CHECK(whole(4, facts).new_value == "/dev/shm");
  facts.settings.data_bytes = 400 * gib;
  CHECK(whole(4, facts).new_value == "a folder of a local disk");
  facts.settings.data_bytes = 8 * gib;
  facts.settings.resident = 2 * gib;
  facts.settings.keys = {"data.stage", "data.resident"};
  CHECK(whole(4, facts).setting == "data.resident");
  CHECK(whole(4, facts).old_value == "2GiB");
  facts.settings.keys = {"threads.io"};
  CHECK(whole(4, facts).setting == "read time a sample");
  CHECK_FALSE(speaks(4, window()));
}

TEST_CASE("rule 4 proposes a cache that is accepted, and none whose size nobody knows") {
  RunFacts facts = slow_disk();
  facts.machine->memory_room = 20 * gib;
  CHECK(whole(4, facts).setting == "data.cache.disk");
  CHECK(has(whole(4, facts).action, "data.cache.folder"));
  const auto proposes_none = [](RunFacts changed) {
    return whole(4, changed).setting == "read time a sample";
  };
  facts.settings.decode_draws = true;
  CHECK(proposes_none(facts));
  facts.settings.keys = {"data.cache.memory", "image.resize"};
  facts.settings.decode_device = "cpu";
  facts.settings.picture_resize = 256;
  CHECK(whole(4, facts).setting == "image.resize");
  CHECK(whole(4, facts).new_value == "256");
  CHECK(has(whole(4, facts).action, "data.cache.memory"));
  facts.settings.keys = {"data.cache.memory"};
  facts.settings.decode_draws = false;
  facts.settings.decode_device = "cuda";
  CHECK(proposes_none(facts));
  facts.settings.decode_device = "cpu";
  facts.settings.decoded_bytes = 0;
  CHECK(proposes_none(facts));
}

TEST_CASE("rule 4 speaks from a fifth of the time under pressure on, else rule 2 does") {
  RunFacts facts = slow_disk();
  facts.machine->io_pressure = 0.19;
  CHECK_FALSE(speaks(4, facts));
  CHECK(said(2, facts)->rule == "raise-io-threads");
  facts.machine->io_pressure = 0.20;
  CHECK(speaks(4, facts));
  CHECK_FALSE(speaks(2, facts));
}

TEST_CASE("rule 4 speaks where half or more of the bytes come from storage, or nobody knows") {
  RunFacts facts = slow_disk();
  facts.machine->read_per_s = 100e6;
  facts.machine->read_from_disk_per_s = 49e6;
  CHECK_FALSE(speaks(4, facts));
  facts.machine->read_from_disk_per_s = 50e6;
  CHECK(speaks(4, facts));
  facts.machine->read_per_s = 0.0;
  CHECK(speaks(4, facts));
}

TEST_CASE("rule 5 finds a page cache that is not used though the data would fit") {
  const Advice advice = whole(5, cold_again());
  CHECK(has(advice.verdict, "the page cache is not used"));
  CHECK(advice.setting == "data.cache.memory");
  RunFacts facts = cold_again();
  facts.settings.can_cache = false;
  CHECK(whole(5, facts).setting == "cat /sys/fs/cgroup/memory.high");
  CHECK_FALSE(speaks(5, window()));
}

TEST_CASE("rule 5 speaks of an epoch at 95 % of the first, and of data smaller than free memory") {
  RunFacts facts = cold_again();
  facts.epoch_seconds = {100.0, 94.9};
  CHECK_FALSE(speaks(5, facts));
  facts.epoch_seconds = {100.0, 95.0};
  CHECK(speaks(5, facts));
  facts.machine->memory_room = facts.settings.data_bytes;
  CHECK_FALSE(speaks(5, facts));
  facts.machine->memory_room += 1;
  CHECK(speaks(5, facts));
  facts.epoch_seconds = {100.0};
  CHECK_FALSE(speaks(5, facts));
}

TEST_CASE("rule 5 waits until more was read from storage than all data") {
  RunFacts facts = cold_again();
  facts.settings.data_bytes = 10 * gib;
  facts.bytes_from_storage = 2.0 * gib;  // two epochs of 1 GiB each: other records
  CHECK_FALSE(speaks(5, facts));
  facts.bytes_from_storage = 12.0 * gib;
  CHECK_FALSE(speaks(5, facts));
  facts.bytes_from_storage = 12.1 * gib;
  CHECK(speaks(5, facts));
  facts.bytes_from_storage = -1.0;
  CHECK_FALSE(speaks(5, facts));
}

TEST_CASE("rule 6 tells chunks that do not fit what is read of them, and the command") {
  const Advice advice = whole(6, wrong_chunks());
  CHECK(advice.setting == "headrace pack volumes --chunk");
  CHECK(advice.old_value == "64,64,64");
  CHECK(advice.new_value == "16,128,128");
  CHECK(has(advice.verdict, "8.0 bytes are unpacked for each that is used, chunks of 64x64x64"));
  CHECK(has(advice.effect, "read amplification 8.0 -> 1.0, 88 % fewer bytes to unpack"));
  CHECK(has(advice.effect, "333 -> 640 samples/s"));
  CHECK(advice.severity == Severity::warning);
  CHECK_FALSE(speaks(6, window()));
}

TEST_CASE("rule 6 speaks above an amplification of 4, and mildly where nobody waits") {
  RunFacts facts = wrong_chunks();
  facts.reads->bytes_read = 40e9;
  CHECK_FALSE(speaks(6, facts));
  facts.reads->bytes_read = 40.1e9;
  CHECK(speaks(6, facts));
  facts.reads->setting = "volume.cache";
  facts.reads->memory_needed = facts.machine->memory_room;
  CHECK(whole(6, facts).setting == "volume.cache");
  facts.reads->memory_needed += 1;
  CHECK(whole(6, facts).setting == "headrace pack volumes --chunk");
  facts.reads->setting = "";
  CHECK(whole(6, facts).setting == "headrace pack volumes --chunk");
  CHECK(whole(6, with_stall(facts, 0.0)).severity == Severity::notice);
  facts.reads->bytes_used = 0;
  CHECK_FALSE(speaks(6, facts));
}

TEST_CASE("facts of patches propose chunks of about a quarter, and what they would cost") {
  RunFacts facts = window();
  facts.reads = patch_reads({.unpacked = 80e9, .used = 10e9}, {64, 64, 64}, {16, 128, 128});
  const Advice advice = whole(6, facts);
  CHECK(advice.new_value == "8,32,32");
  CHECK(has(advice.verdict, "chunks of 64x64x64 for patches of 16x128x128"));
  CHECK(has(advice.effect, "read amplification 8.0 -> 2.2"));
  facts.reads = row_reads({.unpacked = 80e9, .used = 10e9}, 512);
  CHECK(whole(6, facts).setting == "headrace pack table --layout");
  CHECK(whole(6, facts).new_value == "contiguous");
}

TEST_CASE("storage gives all of the bytes at most, though it reads ahead") {
  RunFacts facts = cold_again();
  facts.machine->read_per_s = 1e6;  // pages of a mapped file are no reads
  facts.machine->read_from_disk_per_s = 60e6;
  CHECK(has(whole(5, facts).line(), "of the bytes from storage 100 %"));
}
