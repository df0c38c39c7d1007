// Rules 21, 22, 23: batches, learning, time.
#include <headrace/tests/monitor/run_window.h>

using namespace headrace::test;

namespace {

RunFacts with_records(std::int64_t records, bool drop_last) {
  RunFacts facts = window();
  facts.records = RecordFacts{.records = records, .batch = 64, .drop_last = drop_last};
  return facts;
}

RunFacts with_accuracy(double accuracy) {
  RunFacts facts = window();
  facts.learning = RunFacts::Learning{.accuracy = accuracy, .majority = 0.5};
  return facts;
}

RunFacts late() {
  RunFacts facts = window();
  facts.seconds_left = 7200.0;
  facts.seconds_wanted = 3600.0;
  return facts;
}

}  // namespace

TEST_CASE("rule 21 is an error: an epoch has no batch") {
  const Advice advice = whole(21, with_records(40, true));
  CHECK(advice.severity == Severity::error);
  CHECK(advice.setting == "training.batch");
  CHECK(advice.old_value == "64");
  CHECK(advice.new_value == "40");
  CHECK(has(whole(21, with_records(0, false)).verdict, "no record"));
  RunFacts loader = with_records(40, true);
  loader.settings.keys = {"batch"};
  CHECK(whole(21, loader).setting == "batch");
}

TEST_CASE("rule 21 speaks below one batch, a part of one counted where it is kept") {
  CHECK_FALSE(speaks(21, window()));
  CHECK(speaks(21, with_records(63, true)));
  CHECK_FALSE(speaks(21, with_records(64, true)));
  CHECK_FALSE(speaks(21, with_records(1, false)));
  CHECK(speaks(21, with_records(0, false)));
}

TEST_CASE("rule 22 tells a network that says the most frequent class") {
  const Advice advice = whole(22, with_accuracy(0.5));
  CHECK(has(advice.verdict, "no more than the most frequent class"));
  CHECK(advice.setting == "headrace inspect --sheet sheet.png");
  CHECK_FALSE(speaks(22, window()));
}

TEST_CASE("rule 22 speaks below a twentieth of what there is to learn, from epoch 3 on") {
  CHECK(speaks(22, with_accuracy(0.524)));
  CHECK_FALSE(speaks(22, with_accuracy(0.526)));
  RunFacts early = with_accuracy(0.5);
  early.epoch = 2;
  CHECK_FALSE(speaks(22, early));
  RunFacts one_class = with_accuracy(1.0);
  one_class.learning->majority = 1.0;
  CHECK_FALSE(speaks(22, one_class));
}

TEST_CASE("rule 22 is silent where classes are told apart, however frequent each is") {
  RunFacts facts = with_accuracy(0.4);
  facts.learning->classes = 2;
  facts.learning->mean_recall = 0.5;  // of always the same class
  CHECK(whole(22, facts).evidence.back().name == "mean_recall");
  facts.learning->mean_recall = 0.524;
  CHECK(speaks(22, facts));
  facts.learning->mean_recall = 0.526;
  CHECK_FALSE(speaks(22, facts));
  facts.learning->classes = 4;
  facts.learning->mean_recall = 0.28;
  CHECK(speaks(22, facts));
  facts.learning->mean_recall = 0.29;
  CHECK_FALSE(speaks(22, facts));
}

TEST_CASE("rule 23 says what the time goes to, and what would fit") {
  RunFacts facts = late();
  const Advice advice = whole(23, facts);
  CHECK(advice.setting == "training.epochs");
  CHECK(advice.old_value == "10");
  CHECK(advice.new_value == "6");
  CHECK(has(advice.line(), "computing 98 %"));
  facts.settings.precision = "fp32";
  CHECK(whole(23, facts).setting == "training.precision");
  CHECK(whole(23, facts).new_value == "bf16");
  CHECK_FALSE(speaks(23, window()));
}

TEST_CASE("rule 23 lets exactly the time that was wanted pass") {
  RunFacts facts = late();
  facts.seconds_left = 3600.0;
  CHECK_FALSE(speaks(23, facts));
  facts.seconds_left = 3636.0;
  CHECK(speaks(23, facts));
  facts.seconds_wanted = -1.0;
  CHECK_FALSE(speaks(23, facts));
}

TEST_CASE("rule 22 tells two figures near 100 % apart") {
  RunFacts facts = window();
  facts.learning = RunFacts::Learning{.accuracy = 0.9980, .majority = 0.9985};
  const Advice advice = whole(22, facts);
  CHECK(advice.old_value == "accuracy 99.80 %");
  CHECK(advice.new_value == "above 99.85 %");
  CHECK_FALSE(has(advice.line(), "100 %"));
}

TEST_CASE("rule 23 counts the epochs of all stages and members that are left") {
  RunFacts facts = late();
  facts.epoch = 10;
  facts.epochs_left = 30;  // of three more members
  CHECK(whole(23, facts).new_value == "6");
  facts.epoch = 5;
  facts.epochs_left = 35;
  CHECK(whole(23, facts).new_value == "5");
  facts.epochs_left = 5;
  CHECK(whole(23, facts).new_value == "7");
}

TEST_CASE("rule 23 names no setting where none would do") {
  RunFacts facts = late();
  facts.settings.keys = {"data.prefetch"};  // stages have their own epochs
  REQUIRE(speaks(23, facts));
  CHECK(said(23, facts)->setting.empty());
  CHECK(has(said(23, facts)->action, "as many epochs as fit"));
  RunFacts no_room = late();
  no_room.epoch = 1;
  no_room.epochs_left = 100;
  no_room.seconds_wanted = 1.0;
  REQUIRE(speaks(23, no_room));
  CHECK(said(23, no_room)->setting.empty());
  CHECK(has(said(23, no_room)->action, "more time"));
  RunFacts warmed = late();
  REQUIRE(said(23, warmed)->new_value == "6");
  warmed.settings.least_epochs = 6;
  CHECK(said(23, warmed)->new_value == "6");
  warmed.settings.least_epochs = 7;  // of the warm-up
  CHECK(said(23, warmed)->setting.empty());
}

TEST_CASE("rule 23 tells of time that is used up, as bad as can be") {
  RunFacts facts = late();
  facts.seconds_wanted = 0.0;
  facts.epoch = 9;
  const auto advice = said(23, facts);
  REQUIRE(advice);
  CHECK(advice->setting.empty());
  CHECK(has(advice->verdict, "the time wanted is used up"));
  CHECK(advice->weight == 1.0);
  facts.seconds_left = 0.0;
  CHECK_FALSE(speaks(23, facts));
}

TEST_CASE("rule 23 gets no worse by itself while a run goes on as slowly as it was") {
  RunFacts facts = late();
  facts.seconds_passed = 3600.0;
  const double before = said(23, facts)->weight;
  facts.seconds_passed = 6000.0;
  facts.seconds_left = 4800.0;
  facts.seconds_wanted = 1200.0;
  CHECK(said(23, facts)->weight == doctest::Approx(before));
}
