#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/tests/apps/advised_keys.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace app = headrace::app;

TEST_CASE("every key that advice names is a key of the glaucoma job") {
  app::GlaucomaConfig config;
  app::Fields fields;
  config.describe_keys(fields);
  headrace::test::check_advised_keys(fields);
}

TEST_CASE(
    "the glaucoma job has a list of its own, which a list in a configuration replaces whole") {
  const auto list_of = [](const std::string& yaml) {
    app::GlaucomaConfig config;
    app::Fields fields;
    config.describe_keys(fields);
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
