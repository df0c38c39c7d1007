#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/tests/apps/hdf5_layouts.h>
#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <string>

#include <doctest/doctest.h>

namespace app = headrace::app;
using headrace::test::epoch_of;
using headrace::test::TemporaryFolder;

TEST_CASE("the leak job takes virtual segments") {
  const TemporaryFolder folder;
  headrace::test::write_leak_sounds(folder.path() / "sounds");
  const auto made = headrace::test::run_headrace(
      folder.path(), {"prepare", "leak", "--sounds", "sounds", "--output", "out", "--limit", "8"});
  REQUIRE_MESSAGE(made.status == 0, made.err);
  app::LeakConfig config;
  config.data.training = folder.path() / "out/training.h5";
  config.training.batch = 64;
  config.threads.loader = 2;
  const std::string expected = epoch_of(app::make_leak_loader_job(config));
  REQUIRE_FALSE(expected.empty());
  headrace::test::replace_dataset(config.data.training, app::leak_mel_dataset, false);
  CHECK(epoch_of(app::make_leak_loader_job(config)) == expected);
}
