#include <headrace/apps/report/run_cases.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/monitor/format.h>

#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_advice = 200;

// Causes that differ in their figures alone are one reason.
std::string without_numbers(const std::string& cause) {
  std::string text;
  bool in_number = false;
  for (const char c : cause) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !in_number) text += 'N';
    if (!digit) text += c;
    in_number = digit;
  }
  return text;
}

void add(BadCases& cases, BadCase one) {
  const std::string reason = without_numbers(one.reason);
  if (cases.reasons.size() < BadCases::most_reasons || cases.reasons.contains(reason))
    ++cases.reasons[reason];
  else
    ++cases.other_reasons;
  if (cases.first.size() < BadCases::most_listed) cases.first.push_back(std::move(one));
}

std::string number_text(const nlohmann::json& object, const char* name) {
  const std::string text = text_in(object, name);
  return text.empty() ? "?" : text;
}

BadCase bad_sample(const nlohmann::json& line) {
  BadCase bad{.reason = text_in(line, "cause"),
              .where = fmt::format("{} (record {}, epoch {}, position {})", text_in(line, "file"),
                                   number_text(line, "index"), number_text(line, "epoch"),
                                   number_text(line, "position")),
              .done = text_in(line, "rule")};
  const std::string stage = text_in(line, "stage");
  if (!stage.empty()) bad.reason = stage + ": " + bad.reason;
  if (number_in(line, "replacement", -1.0) >= 0.0)
    bad.done += fmt::format(" by record {}", number_text(line, "replacement"));
  return bad;
}

BadCase bad_step(const nlohmann::json& line) {
  std::string samples;
  if (const auto found = line.find("samples"); found != line.end() && found->is_array()) {
    samples = fmt::format("{} samples", found->size());
    if (!found->empty() && found->front().is_object())
      samples += ", the first " + text_in(found->front(), "file") + " (record " +
                 number_text(found->front(), "index") + ')';
  }
  const bool loss = number_in(line, "loss", HUGE_VAL) == HUGE_VAL;
  return {.reason = loss ? "the loss is not finite" : "the gradients are not finite",
          .where = fmt::format("member {}, epoch {}, step {}: {}", number_text(line, "member"),
                               number_text(line, "epoch"), number_text(line, "step"), samples),
          .done = text_in(line, "done")};
}

// Names of evidence end with what it is measured in.
std::string evidence_text(const std::string& name, double value) {
  if (name.ends_with("_share") || name.ends_with("_fraction")) return monitor::format_share(value);
  if (name.ends_with("_bytes") && value >= 0.0 && value < 1e18)
    return monitor::format_bytes(static_cast<std::uint64_t>(value));
  return fmt::format("{:.4g}", value);
}

AdviceCase advice_of(const nlohmann::json& line) {
  AdviceCase advice{.at = parse_utc(text_in(line, "time")),
                    .rule = text_in(line, "rule"),
                    .severity = text_in(line, "severity"),
                    .verdict = text_in(line, "verdict"),
                    .setting = text_in(line, "setting"),
                    .old_value = text_in(line, "old"),
                    .new_value = text_in(line, "new"),
                    .action = text_in(line, "action"),
                    .effect = text_in(line, "effect"),
                    .check = text_in(line, "check")};
  if (const double number = number_in(line, "number", 0.0); number >= 1.0)
    advice.rule += fmt::format(" (rule {:.0f})", number);
  if (const auto found = line.find("evidence"); found != line.end() && found->is_object())
    for (const auto& [name, value] : found->items())
      advice.evidence.emplace_back(name, value.is_number()
                                             ? evidence_text(name, value.get<double>())
                                             : text_in(*found, name.c_str()));
  return advice;
}

}  // namespace

AdviceCases read_advice(const std::filesystem::path& file) {
  AdviceCases cases;
  cases.count = for_each_object(file, [&cases](const nlohmann::json& line) {
    if (cases.first.size() < most_advice) cases.first.push_back(advice_of(line));
  });
  return cases;
}

BadCases read_bad_samples(const std::filesystem::path& file) {
  BadCases cases;
  cases.count =
      for_each_object(file, [&cases](const nlohmann::json& line) { add(cases, bad_sample(line)); });
  return cases;
}

BadCases read_bad_steps(const std::filesystem::path& file) {
  BadCases cases;
  cases.count =
      for_each_object(file, [&cases](const nlohmann::json& line) { add(cases, bad_step(line)); });
  return cases;
}

}  // namespace headrace::inline v1::app
