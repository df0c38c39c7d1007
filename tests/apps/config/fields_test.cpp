#include <headrace/apps/config/fields.h>
#include <headrace/apps/config/key_table.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/job_text.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::ConfigError;

namespace {

enum class ScheduleName { constant, plateau };

struct Stage {
  std::string name = "stage";
  double lr = 0.1;
  bool operator==(const Stage&) const = default;
};

struct TrainingKeys {
  std::string data = "none";
  std::filesystem::path out = "runs";
  Bytes memory{1ull << 30};
  Duration limit{600};
  bool shuffle = true;
  int epochs = 10;
  std::uint64_t seed = 7;
  float smoothing = 0.1f;
  double lr = 1e-3;
  std::optional<int> threads;
  std::vector<double> weights{1.0, 0.1};
  std::vector<std::string> classes{"a b", "null", "-x"};
  ScheduleName schedule = ScheduleName::constant;
  int patience = 3;
  std::vector<Stage> stages;
  bool operator==(const TrainingKeys&) const = default;
};

void describe(Fields& fields, Stage& stage) {
  fields.key("name", stage.name);
  fields.key("lr", stage.lr, {.above = 0.0});
}

Fields fields_of(TrainingKeys& job) {
  Fields fields;
  fields.key("data", job.data, {.doc = "file to train on", .required = true});
  fields.key("out", job.out);
  fields.key("memory", job.memory, {.doc = "limit of the process", .min = 1024.0, .max = 0x1p40});
  fields.key("limit", job.limit, {.max = 86400.0});
  fields.key("shuffle", job.shuffle);
  fields.key("seed", job.seed);
  fields.key("threads", job.threads, {.min = 1.0});
  fields.key("weights", job.weights, {.min = 0.0});
  fields.key("classes", job.classes);
  fields.section("train", [&](Fields& train) {
    train.key("epochs", job.epochs, {.unit = "epochs", .min = 1.0, .max = 1000.0});
    train.key("lr", job.lr, {.doc = "learning rate", .above = 0.0, .max = 10.0});
    train.key("smoothing", job.smoothing, {.min = 0.0, .below = 1.0});
    train.choice("schedule", job.schedule,
                 {{"constant", ScheduleName::constant}, {"plateau", ScheduleName::plateau}});
    train.section("plateau",
                  [&](Fields& plateau) { plateau.key("patience", job.patience, {.min = 0.0}); },
                  {.used_if = [&job] { return job.schedule == ScheduleName::plateau; },
                   .used_when = "train.schedule is plateau"});
  });
  fields.list_of<Stage>("stages", job.stages, [](Fields& f, Stage& stage) { describe(f, stage); });
  return fields;
}

constexpr headrace::test::JobFrom<TrainingKeys> job_from;
constexpr headrace::test::ErrorOf<TrainingKeys> error_of;

}  // namespace

TEST_CASE("keys set their variables and what is not written keeps its default") {
  const TrainingKeys job = job_from(
      "data: x.h5\nmemory: 2GiB\nlimit: 20ms\nshuffle: false\nseed: 18446744073709551615\nthreads: "
      "4\n"
      "weights: [0.5, 2]\ntrain:\n  epochs: 3\n  lr: 3e-4\n  schedule: plateau\n  plateau: "
      "{patience: 9}\n"
      "stages:\n  - {name: one}\n  - {name: two, lr: 5}\n");
  CHECK(job.data == "x.h5");
  CHECK(job.memory == Bytes{2ull << 30});
  CHECK(job.limit == Duration{0.02});
  CHECK_FALSE(job.shuffle);
  CHECK(job.seed == UINT64_MAX);
  CHECK(job.threads == 4);
  CHECK(job.weights == std::vector<double>{0.5, 2.0});
  CHECK(job.epochs == 3);
  CHECK(job.lr == 3e-4);
  CHECK(job.patience == 9);
  CHECK(job.stages == std::vector<Stage>{{"one", 0.1}, {"two", 5.0}});
  CHECK(job.smoothing == 0.1f);
  CHECK(job.out == "runs");
}

TEST_CASE("an unknown key is refused with its place and the nearest name") {
  CHECK(error_of("data: x\nmemroy: 2GiB\n") ==
        "[config] job.yaml:2:1: key \"memroy\" is not known; did you mean \"memory\"?");
  CHECK(error_of("data: x\ntrain:\n  epoch: 3\n") ==
        "[config] job.yaml:3:3: key \"train.epoch\" is not known; did you mean \"train.epochs\"?");
  CHECK(
      error_of("data: x\nstages: [{nam: x}]\n") ==
      "[config] job.yaml:2:11: key \"stages.0.nam\" is not known; did you mean \"stages.0.name\"?");
  CHECK(error_of("data: x\nzzzzzzzz: 1\n") ==
        "[config] job.yaml:2:1: key \"zzzzzzzz\" is not known");
}

TEST_CASE("a key in the wrong section is told where it belongs") {
  CHECK(error_of("data: x\nepochs: 3\n") ==
        "[config] job.yaml:2:1: key \"epochs\" is not known; did you mean \"train.epochs\"?");
}

TEST_CASE("an override is checked like the file and is named as the place") {
  CHECK(job_from("data: x\ntrain: {lr: 1}\n", {"train.lr=2", "train.lr=3"}).lr == 3.0);
  CHECK(error_of("data: x\n", {"train.lrr=2"}) ==
        "[config] --set train.lrr=2: key \"train.lrr\" is not known; did you mean \"train.lr\"?");
  CHECK(error_of("data: x\n", {"train.lr=fast"}) ==
        "[config] --set train.lr=fast: key \"train.lr\" must be a number, got \"fast\"");
}

TEST_CASE("a value of the wrong type is refused by key and place") {
  const std::string at = "[config] job.yaml:2:";
  CHECK(error_of("data: x\nmemory: lots\n") ==
        at + "9: key \"memory\" must be a size such as 512MiB or 2GiB, got \"lots\"");
  CHECK(error_of("data: x\nlimit: 20\n").starts_with(at + "8: key \"limit\" must be a duration"));
  CHECK(error_of("data: x\nshuffle: yes\n") ==
        at + "10: key \"shuffle\" must be true or false, got \"yes\"");
  CHECK(error_of("data: x\nseed: 1.5\n") ==
        at + "7: key \"seed\" must be a whole number, got \"1.5\"");
  CHECK(error_of("data: x\nseed: \"1\"\n") ==
        at + "7: key \"seed\" must be a whole number, got \"1\"");
  CHECK(error_of("data: x\nseed: -1\n")
            .starts_with(at + "7: key \"seed\" must be a whole number from 0"));
  CHECK(error_of("data: x\nthreads: 4294967296\n")
            .starts_with(at + "10: key \"threads\" must be a whole number from -2147483648"));
  CHECK(error_of("data: x\nweights: 1\n") == at + "10: key \"weights\" must be a list, got \"1\"");
  CHECK(error_of("data: x\nweights: [1, x]\n") ==
        at + "14: key \"weights.1\" must be a number, got \"x\"");
  CHECK(error_of("data: x\nweights: [.inf]\n") ==
        at + "11: key \"weights.0\" must be a number, got \".inf\"");
  CHECK(error_of("data: x\ntrain: 5\n") ==
        at + "8: key \"train\" must be a map of keys, got \"5\"");
  CHECK(error_of("data: x\nmemory:\n").find("got nothing") != std::string::npos);
  CHECK(error_of("data: [x]\n") ==
        "[config] job.yaml:1:7: key \"data\" must be text, got a list of 1");
  CHECK(error_of("- a\n") == "[config] job.yaml:1:1: must be a map of keys");
}

TEST_CASE("a value out of its range is refused in the key's own unit, its edges are not") {
  CHECK(error_of("data: x\ntrain: {lr: 0}\n") ==
        "[config] job.yaml:2:13: key \"train.lr\" must be above 0.0 and at most 10.0, got \"0\"");
  CHECK(error_of("data: x\ntrain: {lr: 10}\n") == "no error");
  CHECK(error_of("data: x\ntrain: {smoothing: 0}\n") == "no error");
  CHECK(error_of("data: x\ntrain: {smoothing: 1}\n").find("below 1.0") != std::string::npos);
  CHECK(error_of("data: x\nmemory: 1023\n").find("must be at least 1KiB and at most 1TiB") !=
        std::string::npos);
  CHECK(error_of("data: x\nmemory: 1KiB\n") == "no error");
  CHECK(error_of("data: x\nthreads: 0\n") ==
        "[config] job.yaml:2:10: key \"threads\" must be at least 1, got \"0\"");
  CHECK(error_of("data: x\ntrain: {epochs: 1001}\n") ==
        "[config] job.yaml:2:17: key \"train.epochs\" must be at least 1 and at most 1000, got "
        "\"1001\"");
  CHECK(error_of("data: x\nweights: [1, -1]\n").find("\"weights.1\" must be at least 0") !=
        std::string::npos);
}

TEST_CASE("a word that is not in the enumeration is refused with the words") {
  CHECK(error_of("data: x\ntrain: {schedule: platau}\n") ==
        "[config] job.yaml:2:19: key \"train.schedule\" must be one of constant, plateau, got "
        "\"platau\"; did you mean "
        "\"plateau\"?");
}

TEST_CASE("a section that nothing uses is refused") {
  CHECK(error_of("data: x\ntrain:\n  plateau: {patience: 2}\n") ==
        "[config] job.yaml:3:3: key \"train.plateau\" is not used unless train.schedule is "
        "plateau; remove it");
  CHECK(error_of("data: x\ntrain:\n  plateau: {patience: 2}\n  schedule: plateau\n") == "no error");
}

TEST_CASE("what the file says of a key that a setting has made useless does not count") {
  const std::string text = "data: x\ntrain:\n  plateau: {patience: 2}\n  schedule: plateau\n";
  CHECK(error_of(text, {"train.schedule=constant"}) == "no error");
  CHECK(job_from(text, {"train.schedule=constant"}).patience == 3);
  CHECK(job_from(text, {"train.schedule=constant"}).schedule == ScheduleName::constant);
  CHECK(error_of(text, {"train={schedule: constant}"}) == "no error");
  CHECK(error_of("data: x\n", {"train.plateau.patience=2", "train.schedule=constant"}) ==
        "[config] --set train.plateau.patience=2: key \"train.plateau\" is not used unless "
        "train.schedule is plateau; remove it");
  CHECK(error_of(text, {"train.lr=1", "train.plateau={patience: 1}", "train.schedule=constant"})
            .starts_with("[config] --set train.plateau={patience: 1}: key \"train.plateau\""));
}

TEST_CASE("a required key that is missing is named with its meaning") {
  CHECK(error_of("seed: 1\n") == "[config] key \"data\" must be given: file to train on");
  CHECK(error_of("") == "[config] key \"data\" must be given: file to train on");
}

TEST_CASE("the effective configuration reads back to the same values") {
  TrainingKeys job = job_from(
      "data: \"it's: \\\"x\\\" # \\n\\t\\u00e9\\x01\"\nlimit: 333us\nmemory: 1500B\ntrain: {lr: "
      "0.1, schedule: plateau}\n"
      "stages: [{name: \"\"}, {name: \"true\"}]\nclasses: []\n");
  job.lr = 1.0 / 3.0;
  job.smoothing = 1.0f / 3.0f;
  for (const bool with_docs : {false, true}) {
    const std::string text = fields_of(job).to_yaml(with_docs);
    CAPTURE(text);
    CHECK(job_from(text) == job);
  }
  CHECK(to_yaml(fields_of(job).write()) == fields_of(job).to_yaml());
}

TEST_CASE("the effective configuration holds every key in use, defaults too") {
  TrainingKeys job;
  const std::string text = fields_of(job).to_yaml();
  CHECK(text ==
        "data: none\nout: runs\nmemory: 1GiB\nlimit: 10min\nshuffle: true\nseed: 7\nthreads: null\n"
        "weights: [1.0, 0.1]\nclasses: [\"a b\", \"null\", \"-x\"]\ntrain:\n  epochs: 10\n  lr: "
        "0.001\n"
        "  smoothing: 0.1\n  schedule: constant\nstages: []\n");
  CHECK(job_from(text) == job);
  job.schedule = ScheduleName::plateau;
  CHECK(fields_of(job).to_yaml(true).find("  # learning rate\n  lr: 0.001\n") != std::string::npos);
  CHECK(fields_of(job).to_yaml().find("  plateau:\n    patience: 3\n") != std::string::npos);
}

TEST_CASE("what was written can be told from what was left at its default") {
  TrainingKeys job;
  Fields fields = fields_of(job);
  fields.read(parse_document("data: x\ntrain: {epochs: 10}\n", "job.yaml"));
  CHECK(fields.was_set("train.epochs"));
  CHECK(fields.was_set("data"));
  CHECK_FALSE(fields.was_set("train.lr"));
  CHECK_FALSE(fields.was_set("memory"));
  CHECK_FALSE(fields.was_set("nothing.of.it"));
}

TEST_CASE("a key described twice is a bug in the program and says so") {
  TrainingKeys job;
  Fields fields;
  fields.key("data", job.data);
  CHECK_THROWS_AS(fields.key("data", job.data), std::logic_error);
}

TEST_CASE("a configuration is loaded from a file with its overrides") {
  const headrace::test::TemporaryFolder folder;
  const auto file = folder / "fields.yaml";
  std::ofstream(file) << "data: x\n";
  TrainingKeys job;
  Fields fields = fields_of(job);
  load(fields, file, {"train.epochs=4"});
  CHECK(job.epochs == 4);
}

TEST_CASE("keys() says of each key what documentation needs, sections and items with theirs") {
  TrainingKeys job;
  const std::vector<KeyDoc> keys = fields_of(job).keys();
  const auto named = [](const std::vector<KeyDoc>& all, const std::string& name) {
    for (const KeyDoc& key : all)
      if (key.name == name) return key;
    FAIL(name);
    return KeyDoc{};
  };
  CHECK(named(keys, "data").required);
  CHECK(named(keys, "memory").value == "1GiB");
  const KeyDoc train = named(keys, "train");
  CHECK(train.value.empty());
  CHECK(named(train.keys, "epochs").unit == "epochs");
  CHECK(named(train.keys, "schedule").range == "constant, plateau");
  CHECK(named(train.keys, "plateau").used_when == "train.schedule is plateau");
  CHECK(named(named(train.keys, "plateau").keys, "patience").value == "3");
  const KeyDoc stages = named(keys, "stages");
  CHECK(stages.value == "[]");
  CHECK(named(stages.keys, "lr").range == "above 0.0");
  CHECK(key_table(stages.keys, "key of a stage") ==
        "| key of a stage | default | range | meaning |\n| --- | --- | --- | --- |\n"
        "| `name` | stage | | |\n| `lr` | 0.1 | above 0.0 | |\n");
  CHECK(key_table({train}, "key").empty());
}
