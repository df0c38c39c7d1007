#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/moved_keys.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace app = headrace::app;

TEST_CASE("the glaucoma job's keys of the old form are told the new ones") {
  const std::string listed = " is now an entry of the list augment: write ";
  const std::string scheduled = " is now a parameter of training.schedule: write ";
  headrace::test::check_moved(
      app::old_glaucoma_keys(),
      {{"data: {flip: 0.5}\n",
        "1:8: data.flip" + listed + "\"augment: [{flip: 0.5}, {rotate: 10}]\""},
       {"data:\n  flip: 0\n", "2:3: data.flip" + listed + "\"augment: [{rotate: 10}]\""},
       {"data:\n  rotation: 5\n",
        "2:3: data.rotation" + listed + "\"augment: [{flip: 0.5}, {rotate: 5}]\""},
       {"training:\n  folds: 5\n",
        "2:3: training.folds is now data.folds: write \"data: {folds: 5}\""},
       {"training:\n  fold: 0\n",
        "2:3: training.fold is now training.member: write \"training: {member: 0}\""},
       {"training:\n  loss: focal\n",
        "2:3: training.loss is now loss.name: write \"loss: {name: focal}\""},
       {"training:\n  gamma: 2\n",
        "2:3: training.gamma is now loss.gamma: write \"loss: {gamma: 2}\""},
       {"training:\n  plateau_factor: 0.25\n",
        "2:3: training.plateau_factor" + scheduled +
            "\"training: {schedule: {plateau: {factor: 0.25, patience: 5}}}\""},
       {"training:\n  schedule: {plateau: {cooldown: 1, factor: 0.3}}\n  plateau_patience: 3\n",
        "3:3: training.plateau_patience" + scheduled +
            "\"training: {schedule: {plateau: {cooldown: 1, factor: 0.3, patience: 3}}}\""}});
  CHECK(headrace::test::contains(
      headrace::test::bench_refusal("kind: glaucoma\ndata:\n  file: x.h5\n  flip: 0.5\n"),
      "job.yaml:4:3: data.flip is now an entry of the list augment"));
}

TEST_CASE("a glaucoma configuration of the old form is told all of the new one at once") {
  CHECK(headrace::test::said(
            app::old_glaucoma_keys(),
            "kind: glaucoma\ndata: {flip: 0, rotation: 5}\ntraining:\n  folds: 3\n  loss: focal\n"
            "  gamma: 1\n  schedule: plateau\n  plateau_factor: 0.2\n  plateau_patience: 7\n") ==
        "[config] these keys have moved:\n"
        "  job.yaml:2:8: data.flip is now an entry of the list augment\n"
        "  job.yaml:2:17: data.rotation is now an entry of the list augment\n"
        "  job.yaml:4:3: training.folds is now data.folds\n"
        "  job.yaml:5:3: training.loss is now loss.name\n"
        "  job.yaml:6:3: training.gamma is now loss.gamma\n"
        "  job.yaml:8:3: training.plateau_factor is now a parameter of training.schedule\n"
        "  job.yaml:9:3: training.plateau_patience is now a parameter of training.schedule\n"
        "write instead:\n"
        "  augment: [{rotate: 5}]\n"
        "  data: {folds: 3}\n"
        "  loss: {name: focal, gamma: 1}\n"
        "  training: {schedule: {plateau: {factor: 0.2, patience: 7}}}");
}

TEST_CASE("every key that advice names is a key of the glaucoma job") {
  app::GlaucomaConfig config;
  app::Fields fields;
  describe(fields, config);
  headrace::test::check_advised_keys(fields.paths());
}

TEST_CASE(
    "the glaucoma job has a list of its own, which a list in a configuration replaces whole") {
  const auto list_of = [](const std::string& yaml) {
    app::GlaucomaConfig config;
    app::Fields fields;
    describe(fields, config);
    fields.read(app::parse_document("data: {file: x.h5}\n" + yaml, "job.yaml"));
    std::vector<std::string> names;
    for (const app::AugmentEntry& entry : config.augment)
      names.push_back(entry.operation->name);
    return names;
  };
  CHECK(list_of("") == std::vector<std::string>{"flip", "rotate"});
  CHECK(list_of("augment: [clahe]\n") == std::vector<std::string>{"clahe"});
  CHECK(list_of("augment: []\n").empty());
}

// What the job delivered before it had a list of operations.
TEST_CASE("the glaucoma job's batches are those of the keys flip and rotation, byte for byte") {
  const headrace::test::TemporaryFolder folder;
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  config.threads.loader = 2;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  CHECK(headrace::test::hash_of(app::make_glaucoma_loader_job(config).build()) ==
        17470652778901921271ULL);
}
