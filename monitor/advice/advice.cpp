#include <headrace/monitor/advice/advice.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::notice:
      return "notice";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "unknown";
}

std::string Advice::line() const {
  std::vector<std::string> facts;
  for (const Evidence& fact : evidence)
    facts.push_back(fact.shown);
  const std::string change =
      setting.empty() ? "" : fmt::format(" ({} {} -> {})", setting, old_value, new_value);
  return fmt::format("{} · {} · {}{} · {} · check: {}", verdict, fmt::join(facts, ", "), action,
                     change, effect, check);
}

std::string Advice::json() const {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  for (const Evidence& fact : evidence)
    facts[fact.name] = fact.value;
  const nlohmann::ordered_json object{
      {"rule", rule},       {"number", number},  {"severity", to_string(severity)},
      {"verdict", verdict}, {"evidence", facts}, {"setting", setting},
      {"old", old_value},   {"new", new_value},  {"action", action},
      {"effect", effect},   {"check", check},    {"weight", weight}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool AdviceMemory::should_say(const Advice& advice) {
  // Numbers in a command are of processes, which come and go: no other advice.
  std::string key = advice.rule + '\n' + advice.setting;
  std::erase_if(key, [](char c) { return c >= '0' && c <= '9'; });
  const auto [place, first] = said_.try_emplace(key, Said{advice.severity, advice.weight});
  if (first) return true;
  Said& last = place->second;
  const bool worse = advice.severity > last.severity || advice.weight > 1.25 * last.weight;
  if (worse) last = Said{advice.severity, advice.weight};
  return worse;
}

}  // namespace headrace::inline v1::monitor
