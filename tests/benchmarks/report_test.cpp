#include <headrace/benchmarks/harness/report.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace headrace::test {
namespace {

using namespace bench;
using nlohmann::json;

json read(const std::filesystem::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

Rates rates(const std::string& name, double median) {
  return {.name = name, .median = median, .low = median / 2, .high = median * 2, .repeats = 3};
}

TEST_CASE("A report's file is whole after every section and holds all that came before") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "figures.json";
  Report report("some_benchmark", file);
  CHECK_FALSE(std::filesystem::exists(file));
  report.add("copies", "GB/s", {rates("bare", 50), rates("headrace", 49)}, "bare",
             {std::nullopt, at_least(0.95)});
  CHECK(read(file)["rows"].size() == 2);
  report.missing("peers", "DALI", "its wheel is not installed");
  const json all = read(file);
  CHECK(all["benchmark"] == "some_benchmark");
  CHECK(all["dry"] == false);
  CHECK(all["machine"]["cores"].get<int>() >= 1);
  CHECK(all["machine"].contains("gpu"));
  const json& row = all["rows"][1];
  CHECK(row["section"] == "copies");
  CHECK(row["contender"] == "headrace");
  CHECK(row["unit"] == "GB/s");
  CHECK(row["median"] == 49);
  CHECK(row["low"] == 24.5);
  CHECK(row["high"] == 98);
  CHECK(row["repeats"] == 3);
  CHECK(row["reference"] == "bare");
  CHECK(row["ratio"] == doctest::Approx(0.98));
  CHECK(row["goal"] == 0.95);
  CHECK(row["held"] == true);
  CHECK_FALSE(all["rows"][0].contains("goal"));
  CHECK(all["rows"][2]["missing"] == "its wheel is not installed");
  CHECK_FALSE(all["rows"][2].contains("median"));
  CHECK_FALSE(std::filesystem::exists(file.string() + ".part"));
}

TEST_CASE("A goal looks at the ratio, or at the share of time itself") {
  Row row{.median = 0.02, .ratio = 0.79, .goal = at_least(0.8)};
  CHECK(verdict(row) == "goal 0.80: missed");
  row.ratio = 0.8;
  CHECK(verdict(row) == "goal 0.80: held");
  row.goal = share_below(0.01);
  CHECK(verdict(row) == "goal < 1 %: missed");
  row.median = 0.009;
  CHECK(verdict(row) == "goal < 1 %: held");
  row.missing = "no GPU";
  CHECK(verdict(row).empty());
}

TEST_CASE("A dry run judges no goal and says that it was one") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "figures.json";
  Report report("some_benchmark", file);
  report.mark_dry();
  report.add("copies", "GB/s", {rates("headrace", 1)}, "headrace", {at_least(0.95)});
  const json all = read(file);
  CHECK(all["dry"] == true);
  CHECK_FALSE(all["rows"][0].contains("held"));
}

Options options() {
  Options options("some_benchmark", "What is asked?");
  options.add("only", "all", "a section").add("repeats", "9", "rounds").add_flag("dry", "no GPU");
  options.add_json().take_words({"only", "repeats"});
  return options;
}

Options parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "some_benchmark");
  std::vector<char*> pointers;
  pointers.reserve(words.size());
  for (std::string& word : words)
    pointers.push_back(word.data());
  Options parsed = options();
  parsed.parse(static_cast<int>(pointers.size()), pointers.data());
  return parsed;
}

TEST_CASE("Options come by name, by place, or both") {
  CHECK(parsed({}).number("repeats") == 9);
  CHECK_FALSE(parsed({}).is_set("dry"));
  const Options by_place = parsed({"rows", "3"});
  CHECK(by_place.text("only") == "rows");
  CHECK(by_place.number("repeats") == 3);
  CHECK(by_place.asks_for("only", "rows"));
  CHECK_FALSE(by_place.asks_for("only", "pictures"));
  const Options both = parsed({"--dry", "rows", "--repeats", "4", "--json", "x.json"});
  CHECK(both.is_set("dry"));
  CHECK(both.number("repeats") == 4);
  CHECK(both.text("json") == "x.json");
}

TEST_CASE("What measures itself is measured in turn, after a round that does not count") {
  std::string order;
  double calls = 0;
  const auto all = compare_measured(
      {{"a", [&] { return order += 'a', ++calls; }}, {"b", [&] { return order += 'b', 7.0; }}}, 3);
  CHECK(order == "abababab");
  CHECK(all[0].median == 3);
  CHECK(all[0].low == 2);
  CHECK(all[0].high == 4);
  CHECK(all[1].median == 7);
  CHECK(all[1].repeats == 3);
}

}  // namespace
}  // namespace headrace::test
