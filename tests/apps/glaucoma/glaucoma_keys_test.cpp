#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/moved_keys.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace app = headrace::app;

TEST_CASE("the glaucoma job's keys of the old form are told the new ones") {
  const std::string listed = " is now an entry of the list augment: write ";
  const std::string scheduled = " is now a parameter of training.schedule: write ";
  headrace::test::check_moved(
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
  CHECK(headrace::test::contains(
      headrace::test::bench_refusal("kind: glaucoma\ndata:\n  file: x.h5\n  flip: 0.5\n"),
      "job.yaml:4:3: data.flip is now an entry of the list augment"));
}

TEST_CASE("every key that advice names is a key of the glaucoma job") {
  app::GlaucomaConfig config;
  app::Fields fields;
  describe(fields, config);
  headrace::test::check_advised_keys(fields.paths());
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
