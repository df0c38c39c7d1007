#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/advice/advice_thresholds.h>
#include <headrace/monitor/advice/run_facts.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace headrace::inline v1::monitor {

/// A rule of advice, as data.
struct AdviceRule {
  int number = 0;
  /// Values of Advice::rule that it gives; the first is the rule's own name.
  std::vector<std::string_view> names{};
  std::string_view when{};                ///< the condition, a sentence
  std::string_view says{};                ///< what it advises, a sentence
  Severity severity = Severity::warning;  ///< the highest it speaks with
  int patience = 1;                       ///< windows in a row in which it must hold
  std::vector<std::string_view> thresholds{};
  /// Where the program itself refuses the case before the first step; empty: nowhere.
  std::string_view enforced{};
  /// Nothing where the condition does not hold or facts are absent. Steps of the warm-up are in no
  /// facts: StepBudgetMeter leaves them out.
  std::optional<Advice> (*look)(const RunFacts&, const AdviceThresholds&) = nullptr;
};

/// The 24 rules, by number from 1.
HEADRACE_API std::span<const AdviceRule> advice_rules();

}  // namespace headrace::inline v1::monitor
