#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::monitor::detail {
namespace {

bool reads_hold_back(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!waits_for_data(facts, limits) || facts.verdict.stages.empty()) return false;
  const StageCapacity& least = facts.verdict.stages.front();
  return facts.verdict.bottleneck != "consumer" &&
         (least.role == StageRole::io || least.stage == "read");
}

std::string without_reads(const RunFacts& facts) {
  const std::string& stage = facts.verdict.stages.front().name;
  return predicted_effect(facts.verdict, with_service(facts.load, stage, 0.0));
}

// The keys that bring data nearer, by what the configuration has and memory holds.
void bring_nearer(const RunFacts& facts, Advice& advice) {
  const SettingFacts& settings = facts.settings;
  const std::uint64_t room = facts.machine ? facts.machine->memory_room : 0;
  const std::uint64_t shared = facts.machine ? facts.machine->shared_room : 0;
  const bool fits = settings.data_bytes > 0 && settings.data_bytes < room;
  if (has_key(settings, "data.resident") && fits && settings.data_bytes > settings.resident) {
    advice.setting = "data.resident";
    advice.old_value = setting_bytes(settings.resident);
    advice.new_value = setting_bytes(settings.data_bytes);
    advice.action = "keep the data in memory";
  } else if (has_key(settings, "data.stage")) {
    advice.setting = "data.stage";
    advice.old_value = "\"\"";
    advice.new_value =
        fits && settings.data_bytes < shared ? "/dev/shm" : "a folder of a local disk";
    advice.action = "copy the file nearer before the first epoch";
  } else if (has_key(settings, "data.cache.memory") && settings.may_cache() &&
             settings.decoded_bytes > 0) {
    advice.action = "keep records after the first epoch";
    set_cache(settings.decoded_bytes < room, settings.decoded_bytes, advice);
  }
  if (settings.data_bytes > 0)
    advice.evidence.push_back(bytes_of("data_bytes", "data", settings.data_bytes));
  if (room > 0) advice.evidence.push_back(bytes_of("memory_room_bytes", "memory free", room));
}

}  // namespace

RuleAdvice slow_storage(const RunFacts& facts, const AdviceThresholds& limits) {
  RuleAdvice advice = loader_advice(facts.verdict, facts.load, host_facts(facts), limits);
  if (!advice || advice->rule != "faster-storage") return {};
  advice->verdict = fmt::format("storage is slow: {} waits for it", facts.verdict.stages[0].name);
  const std::string setting = advice->setting;
  bring_nearer(facts, *advice);
  if (advice->setting == setting && may_decode_whole(facts.settings))
    decode_whole(facts.settings, *advice);
  if (advice->setting != setting) advice->effect = without_reads(facts);
  return advice;
}

RuleAdvice cold_pages(const RunFacts& facts, const AdviceThresholds& limits) {
  const std::uint64_t data = facts.settings.data_bytes;
  // An epoch may draw but a part of the records: only more than all of them was read before.
  const bool again = facts.bytes_from_storage > limits.read_again * static_cast<double>(data);
  if (!facts.machine || data == 0 || !again || facts.epoch_seconds.size() < 2 ||
      !reads_hold_back(facts, limits))
    return {};
  const MachineFacts& machine = *facts.machine;
  const double from_disk = host_facts(facts).read_from_disk_share;
  const double ratio = facts.epoch_seconds.back() / facts.epoch_seconds.front();
  if (ratio < limits.same_epoch || from_disk < limits.from_storage || data >= machine.memory_room)
    return {};
  Advice advice{.rule = "cold-pages",
                .severity = Severity::warning,
                .verdict = fmt::format("epoch {} reads from storage again though the data would "
                                       "fit in memory: the page cache is not used (direct I/O, or "
                                       "a limit of the cgroup)",
                                       facts.epoch),
                .weight = facts.verdict.data_stall_fraction};
  advice.evidence = {
      seconds_of("first_epoch_s", "first epoch", facts.epoch_seconds.front()),
      seconds_of("last_epoch_s", "newest", facts.epoch_seconds.back()),
      share_of("read_from_disk_share", "of the bytes from storage", from_disk),
      bytes_of("bytes_from_storage", "in all epochs", whole_bytes(facts.bytes_from_storage)),
      stall_of(facts)};
  advice.setting = "cat /sys/fs/cgroup/memory.high";
  advice.old_value = "a limit below the data";
  advice.new_value = "max";
  advice.action = "let the group of processes keep pages of files";
  bring_nearer(facts, advice);
  advice.effect = without_reads(facts) + " from the second epoch on";
  advice.check = "bytes from storage in the next epoch";
  return advice;
}

RuleAdvice chunk_shape(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.reads || !(facts.reads->bytes_used > 0)) return {};
  const ReadFacts& reads = *facts.reads;
  const double amplification = reads.bytes_read / reads.bytes_used;
  if (!(amplification > limits.read_amplification)) return {};
  const bool waits = waits_for_data(facts, limits);
  Advice advice{.rule = "chunk-shape",
                .severity = waits ? Severity::warning : Severity::notice,
                .verdict = fmt::format("chunks do not fit what is read of them: {:.1f} bytes are "
                                       "unpacked for each that is used{}{}",
                                       amplification, reads.why.empty() ? "" : ", ", reads.why),
                .weight = 1.0 - 1.0 / amplification};
  const bool fits = !facts.machine || reads.memory_needed <= facts.machine->memory_room;
  if (!reads.setting.empty() && fits) {
    advice.setting = reads.setting;
    advice.old_value = reads.old_value;
    advice.new_value = reads.new_value;
  } else {
    advice.setting = "headrace pack volumes --chunk";
    advice.old_value = "as they are";
    advice.new_value = "near the shape of a patch";
  }
  advice.evidence = {bytes_of("bytes_read", "unpacked", whole_bytes(reads.bytes_read)),
                     bytes_of("bytes_used", "used", whole_bytes(reads.bytes_used)),
                     {"read_amplification", amplification,
                      fmt::format("read amplification {:.1f}", amplification)}};
  if (knows_stall(facts)) advice.evidence.push_back(stall_of(facts));
  advice.action = "write the data anew so, or read in the order of the chunks";
  const double after = reads.predicted > 0 ? std::min(reads.predicted, amplification) : 1.0;
  advice.effect = fmt::format("read amplification {:.1f} -> {:.1f}, {} fewer bytes to unpack",
                              amplification, after, format_share(1.0 - after / amplification));
  if (waits && reads_hold_back(facts, limits)) {
    const StageCapacity& stage = facts.verdict.stages.front();
    const LoaderLoad changed =
        with_service(facts.load, stage.name, stage.service_s * after / amplification);
    advice.effect += "; " + predicted_effect(facts.verdict, changed);
  }
  advice.check = "read amplification and data stall of the next run";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
