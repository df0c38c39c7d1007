#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/hdf5_layouts.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::test::epoch_of;
using headrace::test::replace_dataset;
using headrace::test::TemporaryFolder;

}  // namespace

TEST_CASE("the glaucoma job takes virtual maps and compact labels, resident and not") {
  const TemporaryFolder folder;
  app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  config.threads.loader = 2;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  const std::string expected = epoch_of(app::make_glaucoma_loader_job(config));
  const std::uint64_t forecast = app::make_glaucoma_loader_job(config).forecast().total();
  REQUIRE_FALSE(expected.empty());
  replace_dataset(config.data.file, "/features/rnfl_input", false);
  replace_dataset(config.data.file, "/features/macular_input", false);
  replace_dataset(config.data.file, "/labels", true);
  CHECK(epoch_of(app::make_glaucoma_loader_job(config)) == expected);
  CHECK(app::make_glaucoma_loader_job(config).forecast().total() == forecast);
  config.data.resident = {16 << 10};  // the compact labels alone fit
  CHECK(epoch_of(app::make_glaucoma_loader_job(config)) == expected);
}

TEST_CASE("bench loader takes virtual and compact datasets") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 60, 15);
  replace_dataset(folder.path() / "data.h5", "/features/rnfl_input", false);
  replace_dataset(folder.path() / "data.h5", "/labels", true);
  std::ofstream(folder.path() / "loader.yaml")
      << "kind: loader\nbatch: 15\ndata:\n  source: hdf5\n  file: data.h5\n"
         "  datasets: [/features/rnfl_input, /labels]\n";
  for (const char* resident : {"2GiB", "0B"}) {
    const auto done = headrace::test::run_headrace(
        folder.path(),
        {"bench", "loader", "loader.yaml", "--set", std::string("data.resident=") + resident});
    CHECK_MESSAGE(done.status == 0, done.err);
    CHECK(headrace::test::contains(done.err, "is virtual") == (std::string(resident) == "0B"));
  }
}
