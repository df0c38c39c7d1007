// What a finished fold leaves behind, and what is said of all of them.
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/vote_table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using app::FoldOutcome;

namespace {

FoldOutcome fold(int number, double validation, double test) {
  return {.member = "fold " + std::to_string(number),
          .selected_by = "accuracy",
          .best_epoch = 3,
          .validation = {{"accuracy", validation}},
          .test = {{"accuracy", test}}};
}

FoldOutcome read(const std::string& content) {
  const test::TemporaryFolder folder;
  const auto member = folder.path() / "fold-2";
  std::filesystem::create_directory(member);
  std::ofstream(member / "result.json") << content;
  const auto outcome = app::read_fold_outcome(member);
  REQUIRE(outcome.has_value());
  return *outcome;
}

}  // namespace

TEST_CASE("what a fold came to is read back as it was written") {
  const test::TemporaryFolder folder;
  CHECK_FALSE(app::read_fold_outcome(folder.path()).has_value());
  FoldOutcome written = fold(1, 0.8301, 0.8224);
  written.validation["threshold"] = 0.34;
  written.test["auc"] = std::numeric_limits<double>::quiet_NaN();
  written.confusion = {.counts = {{3, 1}, {0, 4}}, .classes = {"cat", "dog"}};
  app::write_fold_outcome(folder.path(), written);
  const auto outcome = app::read_fold_outcome(folder.path());
  REQUIRE(outcome.has_value());
  CHECK(outcome->member == "fold 1");
  CHECK(outcome->selected_by == "accuracy");
  CHECK(outcome->best_epoch == 3);
  CHECK(outcome->validation == written.validation);
  CHECK(outcome->test.at("accuracy") == 0.8224);
  CHECK(std::isnan(outcome->test.at("auc")));
  CHECK(outcome->confusion.counts == written.confusion.counts);
  CHECK(outcome->confusion.classes == written.confusion.classes);
}

TEST_CASE("infinite figures are read back, and why a member is refused") {
  const test::TemporaryFolder folder;
  FoldOutcome written = fold(1, 0.83, 0.82);
  written.test["psnr"] = std::numeric_limits<double>::infinity();
  written.refused = "test: the network gives NaN for 1 of 9 records, the first a.png";
  app::write_fold_outcome(folder.path(), written);
  const auto outcome = app::read_fold_outcome(folder.path());
  REQUIRE(outcome.has_value());
  CHECK(outcome->test == written.test);
  CHECK(outcome->refused == written.refused);
  app::write_fold_outcome(folder.path(), fold(1, 0.83, 0.82));
  CHECK_FALSE(app::read_fold_outcome(folder.path())->refused.has_value());
}

TEST_CASE("a member that is refused says why, and counts in no mean") {
  const test::TemporaryFolder folder;
  FoldOutcome bad = fold(1, 0.9, 0.0);
  bad.test["accuracy"] = std::nan("");
  bad.refused = "test: the network gives NaN";
  const std::vector<FoldOutcome> all{fold(0, .8, .25), bad, fold(2, .8, .75)};
  const std::string text = app::results_text(all);
  CHECK(text.find("fold 1: refused, test: the network gives NaN\n") != std::string::npos);
  CHECK(text.find("test accuracy 0.5000 +- 0.3536 over 2 of 3 folds") != std::string::npos);
  app::write_run_result(folder.path(), all, {});
  const auto json = nlohmann::json::parse(test::content_of(folder.path() / "result.json"));
  CHECK(json.at("over_members").at("test").at("accuracy").at("mean") == .5);
  CHECK(json.at("members").at(1).at("refused") == "test: the network gives NaN");
  CHECK(json.at("members").at(1).at("test").at("accuracy").is_null());
  CHECK(app::results_text({bad}).find("no figure can be believed") != std::string::npos);
}

TEST_CASE("a run's result names all members and their vote") {
  const test::TemporaryFolder folder;
  const FoldOutcome vote{.member = app::vote_member(""),
                         .selected_by = "accuracy",
                         .test = {{"accuracy", .78}},
                         .confusion = {.counts = {{5, 1}, {2, 6}}, .classes = {"cat", "dog"}}};
  app::write_run_result(folder.path(), {fold(0, .8, .7), fold(1, .9, .75)}, {vote});
  const auto json = nlohmann::json::parse(test::content_of(folder.path() / "result.json"));
  CHECK(json.at("members").size() == 2);
  CHECK(json.at("members").at(1).at("test").at("accuracy") == .75);
  CHECK(json.at("vote").at("test").at("accuracy") == .78);
  CHECK(json.at("vote").at("confusion").at("counts").at(1).at(0) == 2);
  CHECK(json.at("vote").at("confusion").at("classes").at(1) == "dog");
  CHECK_FALSE(json.contains("votes"));
  app::write_run_result(folder.path(), {fold(0, .8, .7)}, {});
  CHECK_FALSE(
      nlohmann::json::parse(test::content_of(folder.path() / "result.json")).contains("vote"));
}

TEST_CASE("of several ways to vote the first is the run's vote, and all are listed") {
  const test::TemporaryFolder folder;
  const FoldOutcome soft{.member = app::vote_member("soft"),
                         .selected_by = "accuracy",
                         .test = {{"accuracy", .78}},
                         .confusion = {.counts = {{5, 1}, {2, 6}}}};
  const FoldOutcome hard{
      .member = app::vote_member("hard"), .selected_by = "accuracy", .test = {{"accuracy", .5}}};
  CHECK(hard.member == "all together, hard");
  app::write_run_result(folder.path(), {fold(0, .8, .7), fold(1, .9, .75)}, {soft, hard});
  const auto json = nlohmann::json::parse(test::content_of(folder.path() / "result.json"));
  CHECK(json.at("vote").at("test").at("accuracy") == .78);
  const auto& votes = json.at("votes");
  REQUIRE(votes.size() == 2);
  CHECK(votes.at(0).at("name") == "soft");
  CHECK(votes.at(0).at("confusion").at("counts").at(0).at(0) == 5);
  CHECK(votes.at(1) == nlohmann::json{{"name", "hard"}, {"test", {{"accuracy", .5}}}});
}

TEST_CASE(
    "a vote is a line, several are a table of at most 100 columns, the selected figure first") {
  const auto vote = [](const std::string& name, double accuracy) {
    FoldOutcome one{.member = app::vote_member(name),
                    .selected_by = "qwk",
                    .test = {{"accuracy", accuracy}, {"auc", .75}, {"macro_f1", .5}}};
    if (name != "hard") one.test["qwk"] = .625;
    return one;
  };
  const std::vector<FoldOutcome> members{fold(0, .5, .25), fold(1, .5, .75)};
  const std::string alone = app::results_text(members);
  CHECK(app::results_text(members, {vote("", .5)}) == alone + "\nall together: test qwk 0.6250");
  CHECK(app::results_text(members, {vote("soft", .5), vote("hard", .25)}) ==
        alone +
            "\nall together, test     qwk  accuracy  macro f1     auc"
            "\n------------------  ------  --------  --------  ------"
            "\nsoft                0.6250    0.5000    0.5000  0.7500"
            "\nhard                          0.2500    0.5000  0.7500");
  FoldOutcome many = vote("a rather long name of a way to vote, longer than any column needs", .5);
  for (int i = 0; i < 30; ++i)
    many.test["figure_number_" + std::to_string(i)] = 0.5;
  const std::string text = app::results_text(members, {many, vote("hard", .5)});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(app::text_width(line) <= 100, line);
  CHECK(text.find("figure number 0") != std::string::npos);  // what there is room for
}

TEST_CASE("what was not validated or not tested is said so") {
  FoldOutcome last = fold(0, 0.0, .7);
  last.validation.clear();
  CHECK(app::results_text({last}) ==
        "fold 0: test accuracy 0.7000, the last weights\ntest accuracy 0.7000");
  FoldOutcome untested = fold(0, .8, 0.0);
  untested.test.clear();
  CHECK(app::results_text({untested}) ==
        "fold 0: selected at epoch 4 by validation accuracy 0.8000\nvalidation accuracy 0.8000, "
        "by which the weights were selected");
  untested.validation.clear();
  CHECK(app::results_text({untested}) == "fold 0: the last weights\nnothing was measured");
}

TEST_CASE("a result that is none is refused with the file's name") {
  for (const char* content : {"", "{}", "[1]", R"({"member": "fold 0"})",
                              R"({"validation_accuracy": 0.5, "best_epoch": 1})"}) {
    CAPTURE(content);
    CHECK_THROWS_WITH_AS(read(content), doctest::Contains("result.json"), app::Failure);
  }
}

TEST_CASE("the folds of a run are a line each and one for all") {
  CHECK(app::results_text({fold(0, 0.8301, 0.8224)}) ==
        "fold 0: test accuracy 0.8224, selected at epoch 4 by validation accuracy 0.8301\n"
        "test accuracy 0.8224");
  CHECK(app::results_text({fold(0, 0.5, 0.25), fold(1, 0.5, 0.75)}) ==
        "fold 0: test accuracy 0.2500, selected at epoch 4 by validation accuracy 0.5000\n"
        "fold 1: test accuracy 0.7500, selected at epoch 4 by validation accuracy 0.5000\n"
        "test accuracy 0.5000 +- 0.3536 over 2 folds");
  CHECK(app::results_text({}) == "nothing was trained");
}

TEST_CASE("all other figures of a result are said, by name, within 100 columns") {
  FoldOutcome outcome{.selected_by = "f1",
                      .best_epoch = 0,
                      .validation = {{"f1", 0.9412}, {"threshold", 0.345}},
                      .test = {{"f1", 0.9375}, {"recording_auc", 0.99125}, {"true_positive", 37}}};
  CHECK(app::results_text({outcome}) ==
        "test f1 0.9375, selected at epoch 1 by validation f1 0.9412\n"
        "  validation: threshold 0.3450\n"
        "  test: recording auc 0.9912, true positive 37\n"
        "test f1 0.9375");
  for (int i = 0; i < 30; ++i)
    outcome.test["figure_number_" + std::to_string(i)] = 0.5;
  std::istringstream lines(app::results_text({outcome}));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(app::text_width(line) <= 100, line);
}

TEST_CASE("records of the test that no figure knows are said of folds and of every vote") {
  const std::string words = "1 of 24 records could not be read, the first a.png";
  FoldOutcome one = fold(0, .9, .8);
  FoldOutcome vote = fold(1, .9, .8);
  CHECK(app::results_text({one}, {vote}).find("records could") == std::string::npos);
  vote.unread = words;
  CHECK(app::results_text({one}, {vote}).ends_with("\n  test: " + words));
  CHECK(app::results_text({one}, {vote, vote}).ends_with("\n  test: " + words));
  one.unread = words;
  CHECK(app::results_text({one}).find("  test: " + words + '\n') != std::string::npos);
  one.unread_validation = words;
  CHECK(app::results_text({one}).find("  validation: " + words + '\n') != std::string::npos);
  const test::TemporaryFolder folder;
  app::write_fold_outcome(folder.path(), one);
  CHECK(app::read_fold_outcome(folder.path())->unread == words);
  CHECK(app::read_fold_outcome(folder.path())->unread_validation == words);
}
