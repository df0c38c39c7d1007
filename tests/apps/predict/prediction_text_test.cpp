// Predictions as a file, as CSV and as JSON lines.
#include <headrace/apps/backend/recipe_notes.h>
#include <headrace/apps/predict/prediction_text.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::PredictionFormat;
using app::PredictionText;

namespace {

const std::vector<float> scores{0.25F, 0.75F, 0.5F, 0.5F};
const std::vector<std::int64_t> one_each{1, 0};
const std::vector<std::int64_t> of_each_class{1, 1, 0, 0};
const std::vector<std::string> files{"a, b.png", "c.png"};

std::string text(PredictionFormat format, const std::vector<std::string>& names,
                 const app::PredictedCases& cases) {
  PredictionText all(format, 2, names);
  all.add(cases);
  return all.text();
}

}  // namespace

TEST_CASE("a row of predictions has index, file, probabilities and the class") {
  CHECK(text(PredictionFormat::csv, {}, {scores, one_each, files}) ==
        "index,file,p0,p1,predicted\n0,\"a, b.png\",0.250000,0.750000,1\n"
        "1,c.png,0.500000,0.500000,0\n");
  CHECK(text(PredictionFormat::csv, {"cat", "dog"}, {scores, one_each, {}}) ==
        "index,p_cat,p_dog,predicted\n0,0.250000,0.750000,dog\n1,0.500000,0.500000,cat\n");
  PredictionText parts(PredictionFormat::csv, 2, {});
  parts.add({.probabilities = {scores.data(), 2}, .predicted = {one_each.data(), 1}});
  parts.add({.probabilities = {scores.data() + 2, 2}, .predicted = {one_each.data() + 1, 1}});
  CHECK(parts.cases() == 2);
  CHECK(parts.text() == text(PredictionFormat::csv, {}, {scores, one_each, {}}));
}

TEST_CASE("a line of JSON says the same, classes by name where they have one") {
  CHECK(text(PredictionFormat::json_lines, {}, {scores, one_each, {}}) ==
        "{\"index\":0,\"probabilities\":[0.25,0.75],\"predicted\":1}\n"
        "{\"index\":1,\"probabilities\":[0.5,0.5],\"predicted\":0}\n");
  CHECK(text(PredictionFormat::json_lines, {"cat", "dog"}, {scores, one_each, files}) ==
        "{\"index\":0,\"file\":\"a, b.png\",\"probabilities\":{\"cat\":0.25,\"dog\":0.75},"
        "\"predicted\":\"dog\"}\n"
        "{\"index\":1,\"file\":\"c.png\",\"probabilities\":{\"cat\":0.5,\"dog\":0.5},"
        "\"predicted\":\"cat\"}\n");
}

TEST_CASE("files have the bytes of their names, in JSON lines those of no text one by one") {
  const std::vector<std::string> odd{printable_name("new\nline \"\xc3\xa9\".png"),
                                     printable_name("Jaime\xf1oz\\x41.png")};
  CHECK(text(PredictionFormat::csv, {}, {scores, one_each, odd}) ==
        "index,file,p0,p1,predicted\n0,\"new\nline \"\"\xc3\xa9\"\".png\",0.250000,0.750000,1\n"
        "1,Jaime\xf1oz\\x41.png,0.500000,0.500000,0\n");
  CHECK(text(PredictionFormat::json_lines, {}, {scores, one_each, odd}) ==
        "{\"index\":0,\"file\":\"new\\nline \\\"\xc3\xa9\\\".png\",\"probabilities\":[0.25,0.75],"
        "\"predicted\":1}\n"
        "{\"index\":1,\"file\":\"Jaime\\udcf1oz\\\\x41.png\",\"probabilities\":[0.5,0.5],"
        "\"predicted\":0}\n");
}

TEST_CASE("where each class is there or not, all that are there are named") {
  const app::PredictedCases cases{scores, of_each_class, {}};
  CHECK(text(PredictionFormat::csv, {"cat", "dog"}, cases) ==
        "index,p_cat,p_dog,predicted\n0,0.250000,0.750000,cat;dog\n1,0.500000,0.500000,\n");
  const std::string json = text(PredictionFormat::json_lines, {}, cases);
  CHECK(json.find("\"predicted\":[0,1]}") != std::string::npos);
  CHECK(json.find("\"predicted\":[]}") != std::string::npos);
}

TEST_CASE("a case with a probability that is no number has no class, and the first is known") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> some{0.25F, 0.75F, nan, 0.5F, nan, nan};
  const std::vector<std::int64_t> one_each_of_three{1, 0, 0};
  const std::vector<std::string> files{"a.png", "b.png", "c.png"};
  PredictionText csv(PredictionFormat::csv, 2, {"cat", "dog"});
  csv.add({some, one_each_of_three, files});
  CHECK(csv.text() ==
        "index,file,p_cat,p_dog,predicted\n0,a.png,0.250000,0.750000,dog\n"
        "1,b.png,nan,0.500000,\n2,c.png,nan,nan,\n");
  CHECK(csv.without_class() == 2);
  CHECK(csv.first_without() == "b.png");
  PredictionText lines(PredictionFormat::json_lines, 2, {});
  lines.add({some, one_each_of_three, {}});
  CHECK(lines.text().find("{\"index\":1,\"probabilities\":[null,0.5],\"predicted\":null}") !=
        std::string::npos);
  CHECK(lines.first_without() == "sample 1");
}

TEST_CASE("a case that could not be read has its number and its file alone") {
  const std::vector<float> margins{0.5F, 0.25F};
  const std::vector<app::PredictedReason> reasons{{"margin", margins}};
  const std::vector<std::string> files{"a.png", "b.png"};
  const std::vector<std::int64_t> unread{1};
  CHECK(text(PredictionFormat::csv, {"cat", "dog"}, {scores, one_each, files, reasons, unread}) ==
        "index,file,p_cat,p_dog,predicted,margin\n0,a.png,0.250000,0.750000,dog,0.500000\n"
        "1,b.png,,,,\n");
  CHECK(text(PredictionFormat::json_lines, {}, {scores, one_each, files, reasons, unread}) ==
        "{\"index\":0,\"file\":\"a.png\",\"probabilities\":[0.25,0.75],\"predicted\":1,"
        "\"reasons\":{\"margin\":0.5}}\n"
        "{\"index\":1,\"file\":\"b.png\",\"probabilities\":null,\"predicted\":null,"
        "\"reasons\":{\"margin\":null}}\n");
  PredictionText all(PredictionFormat::csv, 2, {});
  all.add({.probabilities = scores, .predicted = one_each, .unread = unread});
  CHECK(all.without_class() == 0);
}

TEST_CASE("reasons are columns behind the class, and an object in a line of JSON") {
  const std::vector<float> margins{0.5F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> votes{3.0F, 2.0F};
  const std::vector<app::PredictedReason> reasons{{"margin", margins}, {"votes, most", votes}};
  CHECK(text(PredictionFormat::csv, {}, {scores, one_each, {}, reasons}) ==
        "index,p0,p1,predicted,margin,\"votes, most\"\n0,0.250000,0.750000,1,0.500000,3.000000\n"
        "1,0.500000,0.500000,0,,2.000000\n");
  CHECK(text(PredictionFormat::json_lines, {}, {scores, one_each, {}, reasons}) ==
        "{\"index\":0,\"probabilities\":[0.25,0.75],\"predicted\":1,"
        "\"reasons\":{\"margin\":0.5,\"votes, most\":3.0}}\n"
        "{\"index\":1,\"probabilities\":[0.5,0.5],\"predicted\":0,"
        "\"reasons\":{\"margin\":null,\"votes, most\":2.0}}\n");
}

TEST_CASE("reasons have the same names for all cases, and a value for each") {
  const std::vector<float> values{0.5F, 0.25F};
  const std::vector<app::PredictedReason> one{{"margin", values}};
  const std::vector<app::PredictedReason> other{{"votes", values}};
  const std::vector<app::PredictedReason> few{{"margin", {values.data(), 1}}};
  PredictionText all(PredictionFormat::csv, 2, {});
  CHECK_THROWS_WITH_AS(all.add({scores, one_each, {}, few}),
                       doctest::Contains("\"margin\" must have a value for each case, got 1 for 2"),
                       ConfigError);
  all.add({scores, one_each, {}, one});
  CHECK_THROWS_WITH_AS(all.add({scores, one_each, {}, other}), doctest::Contains("votes"),
                       ConfigError);
  CHECK_THROWS_AS(all.add({scores, one_each, {}, {}}), ConfigError);
  all.add({scores, one_each, {}, one});
  CHECK(all.cases() == 4);
}

TEST_CASE("names must be one for each class, and their note a list of words") {
  CHECK_THROWS_WITH_AS(PredictionText(PredictionFormat::csv, 2, {"cat"}),
                       doctest::Contains("1 names for 2 classes"), ConfigError);
  CHECK(app::words_of_note("class_names", "[\"a\",\"b\"]") == std::vector<std::string>{"a", "b"});
  for (const char* note : {"", "a, b", "[1, 2]", "{\"a\": 1}"})
    CHECK_THROWS_WITH_AS(app::words_of_note("class_names", note), doctest::Contains("class_names"),
                         ConfigError);
  CHECK((app::prediction_format("a/b.jsonl") == PredictionFormat::json_lines));
  CHECK((app::prediction_format("jsonl.txt") == PredictionFormat::csv));
}
