// What `headrace evaluate` says of members and of the ways they vote.
#include <headrace/apps/predict/evaluation_report.h>
#include <headrace/apps/terminal/text_width.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using app::EvaluationReport;

namespace {

EvaluationReport report(const std::vector<std::string>& votes) {
  EvaluationReport all{.data = "test", .samples = 9};
  for (const char* member : {"pair-0-1", "pair-0-2"})
    all.members.push_back({.member = member, .figures = {{"loss", 0.5}, {"accuracy", 0.75}}});
  double qwk = 0.125;
  for (const std::string& name : votes) {
    all.votes.push_back({.member = name,
                         .figures = {{"accuracy", 0.25}, {"qwk", qwk}},
                         .confusion = {.counts = {{4, 1}, {0, 4}}, .classes = {"none", "mild"}}});
    qwk += 0.125;
  }
  return all;
}

}  // namespace

TEST_CASE("each way to vote has a column, and what a vote has no figure of is empty") {
  CHECK(app::evaluation_text(report({"soft", "hard"})) ==
        "figure      soft    hard    mean  lowest  highest\n"
        "--------  ------  ------  ------  ------  -------\n"
        "loss                      0.5000  0.5000   0.5000\n"
        "accuracy  0.2500  0.2500  0.7500  0.7500   0.7500\n"
        "qwk       0.1250  0.2500\n");
}

TEST_CASE("what is not defined is told apart from what a network does not say") {
  const double nan = std::nan("");
  EvaluationReport one{
      .data = "test",
      .samples = 9,
      .members = {{.member = "run", .figures = {{"accuracy", 1.0}, {"auc", nan}}}}};
  CHECK(app::evaluation_text(one).find("auc       not defined") != std::string::npos);
  CHECK_FALSE(
      nlohmann::json::parse(app::evaluation_json(one))["members"][0].contains("no_numbers"));
  one.members[0].figures[0].second = nan;
  one.members[0].nan = 3;
  one.members[0].first_nan = "a.png";
  CHECK(app::evaluation_text(one).find("nan") != std::string::npos);
  CHECK(app::evaluation_text(one).find("not defined") == std::string::npos);
  const auto json = nlohmann::json::parse(app::evaluation_json(one))["members"][0];
  CHECK(json["no_numbers"] == nlohmann::json{{"records", 3}, {"first", "a.png"}});
  CHECK(json["figures"]["auc"].is_null());
}

TEST_CASE("columns of votes that 100 columns have no room for are left out, never the first") {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i)
    names.push_back("way number " + std::to_string(i));
  const std::string text = app::evaluation_text(report(names));
  CHECK(text.find("way number 0") != std::string::npos);
  CHECK(text.find("way number 3") != std::string::npos);
  CHECK(text.find("way number 11") == std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(app::text_width(line) <= 100, line);
}

TEST_CASE("as JSON the vote that decides is the vote, and several are a list with their matrices") {
  using nlohmann::json;
  const json one = json::parse(app::evaluation_json(report({"vote"})));
  CHECK(one.at("samples") == 9);
  CHECK(one.at("vote") == json{{"accuracy", 0.25}, {"qwk", 0.125}});
  CHECK_FALSE(one.contains("votes"));
  const json both = json::parse(app::evaluation_json(report({"soft", "hard"})));
  CHECK(both.at("vote") == one.at("vote"));
  REQUIRE(both.at("votes").size() == 2);
  CHECK(both.at("votes").at(1) ==
        json{{"name", "hard"},
             {"figures", {{"accuracy", 0.25}, {"qwk", 0.25}}},
             {"confusion", {{"classes", {"none", "mild"}}, {"counts", {{4, 1}, {0, 4}}}}}});
  CHECK_FALSE(json::parse(app::evaluation_json(report({}))).contains("vote"));
}
