#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/job_text.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::ConfigError;

namespace {

struct Plateau {
  double factor = 0.5;
  int patience = 5;
};
struct Constant {};
using Schedule = std::variant<Plateau, Constant>;

std::vector<Tag<Schedule>> schedules() {
  return {alternative<Plateau, Schedule>("plateau", "factor",
                                         [](Fields& fields, Plateau& plateau) {
                                           fields.key("factor", plateau.factor, {.below = 1.0});
                                           fields.key("patience", plateau.patience, {.min = 0.0});
                                         }),
          alternative<Constant, Schedule>("constant", "", {})};
}

struct Step {
  std::string kind = "turn";
  double degrees = 10.0;
  std::array<double, 2> scale{1.0, 2.0};
  bool smooth = false;
  std::optional<int> radius{};
  Place place{};
};

std::vector<Tag<Step>> steps() {
  const auto make = [](std::string kind) {
    return [kind](const Place& place) { return Step{.kind = kind, .place = place}; };
  };
  const auto chosen = [](std::string kind) {
    return [kind](const Step& step) { return step.kind == kind; };
  };
  return {{.name = "turn",
           .main = "degrees",
           .make = make("turn"),
           .chosen = chosen("turn"),
           .describe =
               [](Fields& fields, Step& step) {
                 fields.key("degrees", step.degrees, {.min = 0.0, .max = 360.0});
                 fields.key("smooth", step.smooth);
                 fields.key("radius", step.radius,
                            {.min = 1.0,
                             .used_if = [&step] { return step.smooth; },
                             .used_when = "smooth is true"});
               }},
          {.name = "zoom",
           .make = make("zoom"),
           .chosen = chosen("zoom"),
           .describe = [](Fields& fields,
                          Step& step) { fields.key("scale", step.scale, {.above = 0.0}); }},
          {.name = "mirror", .make = make("mirror"), .chosen = chosen("mirror")}};
}

struct TaggedKeys {
  Schedule schedule;
  std::vector<Step> steps{Step{}};
};

Fields fields_of(TaggedKeys& job) {
  Fields fields;
  fields.tagged("schedule", job.schedule, schedules());
  fields.tagged_list("steps", job.steps, steps());
  return fields;
}

constexpr headrace::test::JobFrom<TaggedKeys> tagged_from;
constexpr headrace::test::ErrorOf<TaggedKeys> tagged_error;

}  // namespace

TEST_CASE("a tagged entry is a name, a name with its main value, or a name with parameters") {
  CHECK(std::holds_alternative<Constant>(tagged_from("schedule: constant\n").schedule));
  CHECK(std::get<Plateau>(tagged_from("schedule: plateau\n").schedule).factor == 0.5);
  CHECK(std::get<Plateau>(tagged_from("schedule: {plateau: 0.1}\n").schedule).factor == 0.1);
  CHECK(std::get<Plateau>(tagged_from("schedule: {plateau: {patience: 2}}\n").schedule).patience ==
        2);
  CHECK(std::get<Plateau>(tagged_from("schedule: {plateau: }\n").schedule).patience == 5);
}

TEST_CASE("a list of tagged entries keeps their order and their places") {
  const std::vector<Step> read =
      tagged_from("steps:\n  - zoom: {scale: [0.5, 3]}\n  - mirror\n  - turn: 30\n  - turn\n")
          .steps;
  REQUIRE(read.size() == 4);
  CHECK(read[0].kind == "zoom");
  CHECK(read[0].scale == std::array{0.5, 3.0});
  CHECK(read[1].kind == "mirror");
  CHECK(read[1].place.text() == "job.yaml:3:5");
  CHECK(read[2].degrees == 30.0);
  CHECK(read[3].degrees == 10.0);
  CHECK(tagged_from("steps: []\n").steps.empty());
  CHECK(tagged_from("").steps.size() == 1);
}

TEST_CASE("an entry that is not understood is refused with its place and the way out") {
  const std::vector<std::array<std::string, 2>> refused{
      {"steps: [tunr]\n",
       "9: key \"steps.0\" must be one of turn, zoom, mirror, got \"tunr\"; did you mean "
       "\"turn\"?"},
      {"steps: [turn, {turn: {degres: 3}}]\n",
       "23: key \"steps.1.turn.degres\" is not known; did you mean \"degrees\"?"},
      {"steps: [{turn: {q: 3}}]\n",
       "17: key \"steps.0.turn.q\" is not known; it takes degrees, smooth, radius"},
      {"steps: [{mirror: {q: 3}}]\n",
       "19: key \"steps.0.mirror.q\" is not known; it takes no parameters"},
      {"steps: [{turn: far}]\n", "16: key \"steps.0.turn.degrees\" must be a number, got \"far\""},
      {"steps: [{turn: 400}]\n",
       "16: key \"steps.0.turn.degrees\" must be at least 0.0 and at most 360.0, got "
       "\"400\""},
      {"steps: [{zoom: {scale: [1]}}]\n",
       "24: key \"steps.0.zoom.scale\" must be a list of 2, got a list of 1"},
      {"steps: [{zoom: 3}]\n",
       "16: key \"steps.0.zoom\" must be written with its parameters: {scale: ...}, got "
       "\"3\""},
      {"steps: [{mirror: 1}]\n",
       "18: key \"steps.0.mirror\" must be written without a value, got \"1\""},
      {"steps: [{turn: {radius: 3}}]\n",
       "17: key \"steps.0.turn.radius\" is not used unless smooth is true; remove it"},
  };
  for (const auto& [text, sentence] : refused)
    CHECK(tagged_error(text) == "[config] job.yaml:1:" + sentence);
}

TEST_CASE("a setting for an entry of another kind is told how the whole entry is set") {
  CHECK(tagged_error("schedule: {plateau: {patience: 2}}\n", {"schedule.cosine.power=0.5"}) ==
        "[config] --set schedule.cosine.power=0.5: key \"schedule\" is plateau (job.yaml:1:12), "
        "which "
        "has no cosine; to have cosine instead: --set 'schedule={cosine: {power: 0.5}}'");
  CHECK(
      tagged_error("steps: [{zoom: {scale: [1, 2]}}]\n", {"steps.0.turn=5"}) ==
      "[config] --set steps.0.turn=5: key \"steps.0\" is zoom (job.yaml:1:10), which has no turn; "
      "to have turn instead: --set 'steps.0={turn: 5}'");
  CHECK(tagged_error("schedule: {plateau: {patience: 2}}\n", {"schedule={plateau: 0.5}"}) ==
        "no error");
}

TEST_CASE("what is no entry and no list of entries is refused") {
  const std::string at = "[config] job.yaml:1:";
  CHECK(tagged_error("steps: {turn: 3}\n") ==
        at + "8: key \"steps\" must be a list of entries, [] for none: \"- name: value\" each, got "
             "a map");
  CHECK(tagged_error("steps: [{turn: 3, mirror: }]\n")
            .starts_with(at + "27: key \"steps.0\" must be one entry, got \"turn\" and \"mirror\" "
                              "in it"));
  CHECK(tagged_error("steps: [[turn]]\n")
            .starts_with(at + "9: key \"steps.0\" must be an entry: name, name: value or name: "
                              "{parameters}, got a list"));
  CHECK(tagged_error("schedule: \n").find("must be an entry") != std::string::npos);
}

TEST_CASE("an override sets an entry and a parameter of it") {
  const std::string text = "steps: [{turn: 30}, mirror]\n";
  CHECK(tagged_from(text, {"steps.0.turn=40"}).steps[0].degrees == 40.0);
  CHECK(tagged_from(text, {"steps.0.turn.degrees=50"}).steps[0].degrees == 50.0);
  CHECK(tagged_from(text, {"steps=[mirror]"}).steps.size() == 1);
  CHECK(tagged_error(text, {"steps.0.turn=far"}) ==
        "[config] --set steps.0.turn=far: key \"steps.0.turn.degrees\" must be a number, got "
        "\"far\"");
}

TEST_CASE("entries are written with every parameter in use and read back the same") {
  const std::string text =
      "schedule: {plateau: {factor: 0.5, patience: 2}}\n"
      "steps:\n"
      "  - {zoom: {scale: [0.5, 3.0]}}\n"
      "  - mirror\n"
      "  - {turn: {degrees: 30.0, smooth: true, radius: null}}\n";
  TaggedKeys job = tagged_from(
      "schedule: {plateau: {patience: 2}}\n"
      "steps: [{zoom: {scale: [0.5, 3]}}, mirror, {turn: {degrees: 30, smooth: true}}]\n");
  CHECK(fields_of(job).to_yaml() == text);
  TaggedKeys again = tagged_from(text);
  CHECK(fields_of(again).to_yaml(true) == text);
}

namespace {

struct Values {
  std::vector<double> mean{0.5};
  double std = 0.25;
};
struct Known {};
using Statistics = std::variant<Known, Values>;

std::vector<Tag<Statistics>> statistics_tags() {
  std::vector<Tag<Statistics>> tags{
      alternative<Known, Statistics>("known", "", {}),
      alternative<Values, Statistics>("values", "", [](Fields& fields, Values& values) {
        fields.key("mean", values.mean);
        fields.key("std", values.std, {.above = 0.0});
      })};
  tags.back().bare = true;
  return tags;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

struct Term {
  std::string kind = "near";
  double power = 1.0;
  double factor = 1.0;
  std::string on = "main";
};

Fields fields_of(std::vector<Term>& terms) {
  const auto tag = [](const char* kind) {
    return Tag<Term>{
        .name = kind,
        .main = "power",
        .make = [kind](const Place&) { return Term{.kind = kind}; },
        .chosen = [kind](const Term& term) { return term.kind == kind; },
        .describe = [](Fields& fields, Term& term) { fields.key("power", term.power); }};
  };
  Fields fields;
  fields.tagged_list("terms", terms, std::vector<Tag<Term>>{tag("near"), tag("far")},
                     std::function<void(Fields&, Term&)>([](Fields& f, Term& term) {
                       f.key("factor", term.factor, {.above = 0.0});
                       f.key("on", term.on);
                     }));
  return fields;
}

}  // namespace

TEST_CASE("parameters of one tag may stand there without its name") {
  Statistics statistics;
  Fields fields;
  fields.tagged("normalise", statistics, statistics_tags());
  fields.read(parse_document("normalise: {mean: [0.1, 0.2], std: 2}", "test"));
  CHECK(std::get<Values>(statistics).mean == std::vector<double>{0.1, 0.2});
  CHECK(std::get<Values>(statistics).std == 2.0);
  fields.read(parse_document(fields.to_yaml(), "written"));
  CHECK(std::get<Values>(statistics).std == 2.0);
  fields.read(parse_document("normalise: known", "test"));
  CHECK(std::holds_alternative<Known>(statistics));
  CHECK(refusal([&] {
          fields.read(parse_document("normalise: {mean: [1], sdt: 2}", "test"));
        }).find("did you mean \"std\"?") != std::string::npos);
  CHECK(refusal([&] {
          fields.read(parse_document("normalise: knwon", "test"));
        }).find("did you mean \"known\"?") != std::string::npos);
}

TEST_CASE("keys of every entry may stand beside its name") {
  std::vector<Term> terms;
  Fields fields = fields_of(terms);
  fields.read(
      parse_document("terms: [{near: {power: 2}, factor: 3}, far, {on: deep, far: 4}]", "t"));
  REQUIRE(terms.size() == 3);
  CHECK(terms[0].power == 2.0);
  CHECK(terms[0].factor == 3.0);
  CHECK(terms[1].kind == "far");
  CHECK(terms[1].factor == 1.0);
  CHECK(terms[2].power == 4.0);
  CHECK(terms[2].on == "deep");

  std::vector<Term> again;
  fields_of(again).read(parse_document(fields.to_yaml(), "written"));
  REQUIRE(again.size() == 3);
  CHECK(again[2].on == "deep");
  CHECK(again[0].factor == 3.0);

  const auto refused = [&](const char* text) {
    return refusal([&] { fields.read(parse_document(text, "t")); });
  };
  CHECK(refused("terms: [{near: 1, factor: 0}]").find("\"terms.0.factor\" must be above") !=
        std::string::npos);
  CHECK(refused("terms: [{near: 1, far: 2}]").find("got \"near\" and \"far\" in it") !=
        std::string::npos);
  CHECK(refused("terms: [{factor: 2}]").find("one of near, far") != std::string::npos);
  CHECK(refused("terms: [{nera: 1, factor: 2}]").find("did you mean \"near\"?") !=
        std::string::npos);
}

TEST_CASE("keys() names the kinds of an entry with their parameters") {
  TaggedKeys job;
  const std::vector<KeyDoc> keys = fields_of(job).keys();
  const KeyDoc& schedule = keys.front();
  CHECK(schedule.range == "plateau, constant");
  REQUIRE(schedule.kinds.size() == 2);
  CHECK(schedule.kinds[0].main == "factor");
  REQUIRE(schedule.kinds[0].keys.size() == 2);
  CHECK(schedule.kinds[0].keys[1].value == "5");
  CHECK(schedule.kinds[1].keys.empty());
  CHECK(keys[1].kinds.front().name == "turn");
}
