#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/view/run_voice.h>
#include <headrace/engine/base/error.h>

#include <sstream>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t steps_a_line = 32;

}  // namespace

// The block tells the log file of its plain lines, the logger prints above the block.
RunVoice::RunVoice(const std::filesystem::path& folder, LogLevel level,
                   std::chrono::milliseconds interval)
    : level_(level),
      file_log_(make_run_logger(folder, nullptr, level)),
      events_(folder / "events.jsonl") {
  LiveBlockOptions options;
  options.interval = interval;
  options.plain_lines = level <= LogLevel::info;
  options.on_line = [file = file_log_](const std::string& line) { log_to_file_only(*file, line); };
  block_ = std::make_shared<LiveBlock>(options);
  log_ = make_run_logger(folder, block_, level);
}

void RunVoice::event(const std::string& name, MetricRow facts) {
  for (auto& [key, value] : facts)
    if (auto* text = std::get_if<std::string>(&value)) *text = clean_message(*text);
  facts.insert(facts.begin(), {{"time", utc_time()}, {"event", name}});
  const std::lock_guard lock(events_guard_);
  try {
    events_.write(facts);
  } catch (const ResourceError&) {  // the log has it, and others say that the disk is full
  }
}

void RunVoice::warn(std::string_view text) {
  log_->warn(text);
  event("warning", {{"said", std::string(text)}});
}

void RunVoice::fail(std::string_view text) {
  file_log_->error(text);
  event("end", {{"how", "failed"}, {"said", std::string(text)}});
}

void RunVoice::show(const std::vector<std::string>& lines, const std::string& plain,
                    std::int64_t step) {
  if (step + steps_a_line < next_line_) next_line_ = step;  // of another stage
  const bool line_may_come = step >= next_line_;
  if (block_->update(lines, line_may_come ? plain : std::string()))
    next_line_ = step + steps_a_line;
}

void RunVoice::tell(const std::string& line) {
  const std::string text = clean_message(line);
  block_->print(utc_time() + " info " + text);
  file_log_->info(text);
}

void RunVoice::rows(const std::string& text) {
  if (level_ <= LogLevel::info) block_->print(text);
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);)
    file_log_->info(row);
}

}  // namespace headrace::inline v1::app
