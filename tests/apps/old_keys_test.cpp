#include <headrace/apps/feed/old_keys.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/leak/config.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::test::contains;

/// What is said of a configuration whose keys are all gone.
std::string said(const std::vector<app::MovedKey>& keys, const std::string& text,
                 const std::string& setting = "") {
  app::Fields fields;
  std::string kind;
  fields.key("kind", kind);
  fields.moved(keys);
  app::Node document = app::parse_document(text, "job.yaml");
  if (!setting.empty()) app::apply_override(document, setting);
  try {
    fields.read(document);
  } catch (const headrace::ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("configurations of the old form are told the new key of each") {
  struct Old {
    std::string text;
    std::string sentence;
  };
  const auto check_all = [](const std::vector<app::MovedKey>& keys, const std::vector<Old>& all) {
    for (const Old& old : all) {
      CAPTURE(old.text);
      CHECK(said(keys, old.text) == "[config] job.yaml:" + old.sentence);
    }
  };
  const std::string listed = " is now an entry of the list augment: write ";
  const std::string scheduled = " is now a parameter of training.schedule: write ";
  check_all(
      app::old_glaucoma_keys(),
      {{"data: {flip: 0.5}\n", "1:8: data.flip" + listed + "\"augment: [{flip: 0.5}]\""},
       {"data:\n  flip: 0\n", "2:3: data.flip" + listed + "\"augment: []\""},
       {"data:\n  rotation: 10\n", "2:3: data.rotation" + listed + "\"augment: [{rotate: 10}]\""},
       {"training:\n  folds: 5\n", "2:3: training.folds is now data.folds"},
       {"training:\n  fold: 0\n", "2:3: training.fold is now training.member"},
       {"training:\n  loss: focal\n", "2:3: training.loss is now loss.name"},
       {"training:\n  gamma: 2\n", "2:3: training.gamma is now loss.gamma"},
       {"training:\n  plateau_factor: 0.5\n",
        "2:3: training.plateau_factor" + scheduled + "\"schedule: {plateau: {factor: 0.5}}\""},
       {"training:\n  plateau_patience: 5\n",
        "2:3: training.plateau_patience" + scheduled + "\"schedule: {plateau: {patience: 5}}\""}});
  check_all(
      app::old_leak_keys(),
      {{"data:\n  spec_augment:\n    enabled: true\n    time_masks: 2\n",
        "2:3: data.spec_augment" + listed + "\"augment: [{spec_augment: {time_masks: 2}}]\""},
       {"data: {spec_augment: {enabled: true}}\n",
        "1:8: data.spec_augment" + listed + "\"augment: [spec_augment]\""},
       {"data: {spec_augment: {enabled: false}}\n",
        "1:8: data.spec_augment" + listed + "\"augment: []\""},
       {"data: {cache: {memory: 1GiB}}\n",
        "1:8: data.cache is now not a key: this job keeps whole files in memory (data.resident)"},
       {"training:\n  auxiliary: 0.3\n", "2:3: training.auxiliary is now loss.auxiliary"},
       {"training:\n  leak_boost: 2\n", "2:3: training.leak_boost is now loss.leak_boost"},
       {"training:\n  warmup_epochs: 3\n",
        "2:3: training.warmup_epochs" + scheduled + "\"schedule: {cosine: {warmup_epochs: 3}}\""},
       {"training:\n  lowest_rate: 1e-6\n",
        "2:3: training.lowest_rate" + scheduled + "\"schedule: {cosine: {lowest: 1e-6}}\""}});
  check_all(app::old_loader_keys(),
            {{"source:\n  kind: images\n  folder: x\n",
              "2:3: source.kind is now data.source: write \"data: {source: images, ...}\""},
             {"source:\n  file: x.h5\n", "2:3: source.file is now data.file"},
             {"source: {rows: 5}\n", "1:10: source.rows is now data.rows"},
             {"cache: {memory: 1GiB}\n", "1:9: cache.memory is now data.cache.memory"},
             {"prefetch: 4\n", "1:1: prefetch is now data.prefetch"},
             {"image:\n  flip: 0.5\n",
              "2:3: image.flip" + listed + "\"augment: [random_resized_crop, {flip: 0.5}]\""},
             {"image:\n  rotation: 5\n",
              "2:3: image.rotation" + listed + "\"augment: [random_resized_crop, {rotate: 5}]\""}});
}

TEST_CASE("a setting of the old form is told the new key, with itself as the place") {
  CHECK(said(app::old_loader_keys(), "kind: loader\n", "source.folder=x") ==
        "[config] --set source.folder=x: source.folder is now data.folder");
  CHECK(said(app::old_loader_keys(), "kind: loader\n", "sauce.folder=x") ==
        "[config] --set sauce.folder=x: key \"sauce\" is not known");
}

TEST_CASE("the programs refuse a configuration of the old form with exit 2 and its line") {
  const headrace::test::TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    std::ofstream(folder.path() / "job.yaml") << text;
    const auto finished = headrace::test::run_program(
        HEADRACE_PROGRAM, {"bench", "loader", "job.yaml"}, {.folder = folder.path()});
    CHECK(finished.status == 2);
    return finished.err;
  };
  CHECK(contains(refused("kind: loader\nsource:\n  kind: synthetic\nbatch: 8\n"),
                 "job.yaml:3:3: source.kind is now data.source"));
  CHECK(contains(refused("kind: loader\nimage: {flip: 0.5}\n"),
                 "write \"augment: [random_resized_crop, {flip: 0.5}]\""));
  CHECK(contains(refused("kind: glaucoma\ndata:\n  file: x.h5\n  flip: 0.5\n"),
                 "job.yaml:4:3: data.flip is now an entry of the list augment"));
  CHECK(contains(refused("kind: leak\ndata:\n  spec_augment: {enabled: true}\n"),
                 "write \"augment: [spec_augment]\""));
}
