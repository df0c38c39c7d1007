#include <headrace/apps/doctor/ceilings.h>
#include <headrace/apps/doctor/environment.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using monitor::format_rate;
using monitor::format_seconds;
using monitor::format_share;

std::string limits(const PaceResult& result, const monitor::Verdict& verdict) {
  if (!result.failed.empty()) return "it failed, see below";
  if (result.input == PaceInput::device_only) return "the step itself";
  if (verdict.bottleneck.empty()) return "cannot tell";
  if (verdict.bottleneck == "consumer") return result.stage.empty() ? "the consumer" : "the step";
  const double capacity = verdict.stages.empty() ? 0.0 : verdict.stages.front().capacity;
  return fmt::format("{} ({}/s possible)", verdict.bottleneck, format_rate(capacity));
}

// "data 1 + copy 0 + gpu 95 + other 2"
std::string parts(const monitor::StepBudget& budget) {
  const std::string sentence = budget.sentence();
  const auto sum = sentence.find(" = ");
  return sum == std::string::npos ? sentence : sentence.substr(sum + 3);
}

void add_row(Table& table, const PaceResult& result, const monitor::Verdict& verdict) {
  const bool failed = !result.failed.empty();
  table.row({std::string(to_string(result.input)),
             failed ? "-" : format_rate(result.samples_per_s()),
             failed ? "-" : format_seconds(result.step_s()),
             failed ? "" : std::to_string(result.budget.steps), failed ? "" : parts(result.budget),
             limits(result, verdict)});
}

std::string stall_line(const char* name, const std::optional<double>& stall_s, double share,
                       const std::string& what) {
  if (!stall_s) return {};
  return fmt::format("{:<12} {} a step, {} of it: {}\n", name, format_seconds(*stall_s),
                     format_share(share), what);
}

std::string failures(const Ceilings& ceilings) {
  std::string text;
  const auto add = [&](const PaceResult& result) {
    if (!result.failed.empty())
      text += fmt::format("{:<12} {}\n", to_string(result.input), result.failed);
  };
  if (ceilings.device) add(*ceilings.device);
  add(ceilings.memory);
  add(ceilings.storage);
  return text;
}

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string ceilings_text(const Ceilings& ceilings, const Diagnosis& diagnosis) {
  Table table({{"input", Align::left},
               {"samples/s"},
               {"step"},
               {"steps"},
               {"made of", Align::left},
               {"what limits it", Align::left}});
  if (ceilings.device) add_row(table, *ceilings.device, {});
  add_row(table, ceilings.memory, diagnosis.memory);
  add_row(table, ceilings.storage, diagnosis.storage);
  std::string text = table.text();
  text += failures(ceilings);
  text += stall_line("prep stall", diagnosis.prep_stall_s, diagnosis.prep_share,
                     "beyond the device alone, with data in memory");
  text += stall_line("fetch stall", diagnosis.fetch_stall_s, diagnosis.fetch_share,
                     ceilings.storage.cold ? "waited for cold data beyond data in memory"
                                           : ceilings.storage.storage);
  if (ceilings.memory.failed.empty())
    text += fmt::format("{:<12} {}\n", "memory", diagnosis.memory.sentence());
  if (ceilings.storage.failed.empty())
    text += fmt::format("{:<12} {} ({})\n", "storage", diagnosis.storage.sentence(),
                        ceilings.storage.storage);
  return text + fmt::format("{:<12} {}\n", "to do", diagnosis.to_do);
}

std::string ceilings_json(const Ceilings& ceilings, const Diagnosis& diagnosis,
                          const std::string& configuration, const Findings& environment) {
  using nlohmann::ordered_json;
  ordered_json paces = ordered_json::object();
  const auto add = [&](const PaceResult& result) {
    paces[std::string(to_string(result.input))] = ordered_json::parse(to_json(result));
  };
  if (ceilings.device) add(*ceilings.device);
  add(ceilings.memory);
  add(ceilings.storage);
  const ordered_json document{{"configuration", configuration},
                              {"ceilings", std::move(paces)},
                              {"prep_stall_s", number(diagnosis.prep_stall_s)},
                              {"prep_stall_share", diagnosis.prep_share},
                              {"fetch_stall_s", number(diagnosis.fetch_stall_s)},
                              {"fetch_stall_share", diagnosis.fetch_share},
                              {"memory_verdict", ordered_json::parse(diagnosis.memory.json())},
                              {"storage_verdict", ordered_json::parse(diagnosis.storage.json())},
                              {"environment", ordered_json::parse(environment_json(environment))},
                              {"limit", to_string(diagnosis.limit)},
                              {"to_do", diagnosis.to_do}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
