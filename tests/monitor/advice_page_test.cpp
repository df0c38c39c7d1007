// docs/advice.md says what the table of rules says.
#include <headrace/monitor/advice/advice_rules.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace headrace::monitor;

namespace {

std::string names_of(const AdviceRule& rule) {
  std::string names;
  for (const std::string_view name : rule.names)
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
  return names;
}

std::string page() {
  std::string text =
      "| # | name | when | says | most | windows | thresholds |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const AdviceRule& rule : advice_rules()) {
    std::string says(rule.says);
    if (!rule.enforced.empty()) says += fmt::format("; {}", rule.enforced);
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", rule.number, names_of(rule),
                        rule.when, says, to_string(rule.severity), rule.patience,
                        fmt::join(rule.thresholds, ", "));
  }
  text +=
      "\n## Thresholds\n\n"
      "| name | value | of | source |\n"
      "| --- | --- | --- | --- |\n";
  const AdviceThresholds values;
  for (const AdviceThreshold& one : advice_thresholds())
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", one.name, values.*one.value, one.of, one.source);
  return text;
}

}  // namespace

TEST_CASE("the page of advice says what the table of rules says") {
  const std::filesystem::path file =
      std::filesystem::path(headrace::test::source_folder()) / "docs/advice.md";
  const std::string mark = "<!-- the table of monitor/advice/advice_rules.cpp -->\n\n";
  const std::string text = headrace::test::content_of(file);
  const auto start = text.find(mark);
  REQUIRE(start != std::string::npos);
  const std::string wanted = text.substr(0, start + mark.size()) + page();
  if (std::getenv("HEADRACE_WRITE_DOCS") != nullptr) std::ofstream(file) << wanted;
  CHECK_MESSAGE(headrace::test::content_of(file) == wanted,
                "run this test once with HEADRACE_WRITE_DOCS=1");
}
