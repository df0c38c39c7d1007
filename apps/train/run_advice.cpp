#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/train/run_advice.h>
#include <headrace/apps/train/run_voice.h>
#include <headrace/monitor/stage_load.h>

#include <utility>

#include <spdlog/logger.h>

namespace headrace::inline v1::app {

monitor::Verdict epoch_verdict(const monitor::StepBudget& budget, const LoaderStats& stats,
                               const monitor::CpuUsage& usage) {
  return monitor::judge(budget, monitor::loader_load(stats),
                        {.usable_cores = monitor::usable_cores(),
                         .process_cpu_share = usage.process_share,
                         .io_pressure_share = usage.io_pressure_share.value_or(-1.0)});
}

RunAdvice::RunAdvice(RunFolder& folder, RunVoice& voice, RunAdviserOptions options)
    : folder_(folder), voice_(voice), adviser_(std::move(options)) {}

void RunAdvice::say(const monitor::Verdict& verdict) {
  std::string key = std::string(to_string(verdict.bound)) + verdict.bottleneck;
  const bool new_one = key != last_verdict_;
  last_verdict_ = std::move(key);
  (new_one ? voice_.log() : voice_.file_log()).info(verdict.sentence());
}

void RunAdvice::say(const std::vector<monitor::Advice>& all) {
  for (const monitor::Advice& advice : all) {
    voice_.log().log(
        advice.severity >= monitor::Severity::warning ? spdlog::level::warn : spdlog::level::info,
        advice.line());
    folder_.advice().write_json(advice.json());
  }
}

void RunAdvice::say(const std::vector<monitor::MemoryRemark>& remarks) {
  for (const monitor::MemoryRemark& remark : remarks) {
    voice_.log().warn(remark.sentence);
    folder_.advice().write({{"rule", remark.rule},
                            {"severity", std::string(to_string(monitor::Severity::warning))},
                            {"verdict", remark.sentence}});
  }
}

}  // namespace headrace::inline v1::app
