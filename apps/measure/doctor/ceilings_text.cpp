#include <headrace/apps/measure/ceilings.h>
#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/measure/labelled.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

// Where `narrow`, what steps were made of has lines of its own below.
std::string table_of(const Ceilings& ceilings, const Diagnosis& diagnosis, bool narrow) {
  std::vector<Table::Column> columns{{"input", Align::left}, {"samples/s"}, {"step"}, {"steps"}};
  if (!narrow) columns.push_back({"made of", Align::left});
  columns.push_back({"what limits it", Align::left});
  Table table(columns);
  const auto add = [&](const PaceResult& result, const monitor::Verdict& verdict) {
    const bool failed = !result.failed.empty();
    std::vector<std::string> cells{std::string(to_string(result.input)),
                                   failed ? "-" : format_rate(result.samples_per_s()),
                                   failed ? "-" : format_seconds(result.step_s()),
                                   failed ? "" : std::to_string(result.budget.steps)};
    if (!narrow) cells.push_back(failed ? "" : parts(result.budget));
    cells.push_back(limits(result, verdict));
    table.row(std::move(cells));
  };
  if (ceilings.device) add(*ceilings.device, {});
  add(ceilings.memory, diagnosis.memory);
  add(ceilings.storage, diagnosis.storage);
  return table.text();
}

// Of each ceiling: why it has no pace; and for narrow text what its steps were made of.
std::string beside(const Ceilings& ceilings, bool narrow, std::size_t columns) {
  std::string text;
  const auto add = [&](const PaceResult& result) {
    const bool failed = !result.failed.empty();
    if (failed || narrow)
      text += labelled(to_string(result.input), failed ? result.failed : result.budget.sentence(),
                       columns);
  };
  if (ceilings.device) add(*ceilings.device);
  add(ceilings.memory);
  add(ceilings.storage);
  return text;
}

std::string stall_text(double stall_s, double share, const std::string& what) {
  return fmt::format("{} a step, {} of it: {}", format_seconds(stall_s), format_share(share), what);
}

// "decode holds the loader back: data stall 31 %, process CPU 6.0 %"
std::string because(const monitor::Advice& advice) {
  std::vector<std::string> facts;
  for (const monitor::Evidence& fact : advice.evidence)
    facts.push_back(fact.shown);
  return fmt::format("{}: {}", advice.verdict, fmt::join(facts, ", "));
}

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string ceilings_text(const Ceilings& ceilings, const Diagnosis& diagnosis,
                          std::size_t columns) {
  std::string text = table_of(ceilings, diagnosis, false);
  const bool narrow = width_of(text) > columns;
  if (narrow) text = table_of(ceilings, diagnosis, true);
  text += beside(ceilings, narrow, columns);
  const auto add = [&](const char* label, const std::string& line) {
    text += labelled(label, line, columns);
  };
  const PaceResult& storage = ceilings.storage;
  if (diagnosis.prep_stall_s)
    add("prep stall", stall_text(*diagnosis.prep_stall_s, diagnosis.prep_share,
                                 "beyond the device alone, with data in memory"));
  if (diagnosis.fetch_stall_s)
    add("fetch stall",
        stall_text(*diagnosis.fetch_stall_s, diagnosis.fetch_share,
                   storage.cold ? "waited for cold data beyond data in memory" : storage.storage));
  if (ceilings.memory.failed.empty()) add("memory", diagnosis.memory.sentence());
  if (storage.failed.empty())
    add("storage", fmt::format("{} ({})", diagnosis.storage.sentence(), storage.storage));
  add("to do", diagnosis.to_do);
  if (diagnosis.advice) {
    add("because", because(*diagnosis.advice));
    add("check", diagnosis.advice->check);
  }
  return text;
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
  ordered_json document{{"configuration", configuration},
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
  if (diagnosis.advice) document["advice"] = ordered_json::parse(diagnosis.advice->json());
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
