#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <H5Cpp.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::TemporaryFolder;

/// Puts a virtual dataset of the same content, or a compact copy, in a dataset's place.
void replace(const fs::path& path, const std::string& dataset, bool compact) {
  const H5::H5File file(path.c_str(), H5F_ACC_RDWR);
  const std::string stored = dataset + "_stored";
  REQUIRE(H5Lmove(file.getId(), dataset.c_str(), file.getId(), stored.c_str(), H5P_DEFAULT,
                  H5P_DEFAULT) >= 0);
  const H5::DataSet from = file.openDataSet(stored);
  const H5::DataSpace space = from.getSpace();
  const H5::DSetCreatPropList creation;
  if (compact) {
    creation.setLayout(H5D_COMPACT);
  } else {
    H5Pset_virtual(creation.getId(), space.getId(), ".", stored.c_str(), space.getId());
  }
  const H5::DataSet to = file.createDataSet(dataset, from.getDataType(), space, creation);
  if (!compact) return;
  std::vector<char> values(from.getInMemDataSize());
  from.read(values.data(), from.getDataType());
  to.write(values.data(), to.getDataType());
}

std::string epoch_of(const app::LoaderJob& job) {
  headrace::Loader loader = job.build();
  std::string bytes;
  for (headrace::Batch& batch : loader.epoch(0)) {
    for (const std::string& name : batch.names()) {
      const headrace::Tensor field = batch[name];
      bytes.append(static_cast<const char*>(field.raw()), field.bytes());
    }
  }
  return bytes;
}

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
  replace(config.data.file, "/features/rnfl_input", false);
  replace(config.data.file, "/features/macular_input", false);
  replace(config.data.file, "/labels", true);
  CHECK(epoch_of(app::make_glaucoma_loader_job(config)) == expected);
  CHECK(app::make_glaucoma_loader_job(config).forecast().total() == forecast);
  config.data.resident = {16 << 10};  // the compact labels alone fit
  CHECK(epoch_of(app::make_glaucoma_loader_job(config)) == expected);
}

TEST_CASE("bench loader takes virtual and compact datasets") {
  const TemporaryFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 60, 15);
  replace(folder.path() / "data.h5", "/features/rnfl_input", false);
  replace(folder.path() / "data.h5", "/labels", true);
  std::ofstream(folder.path() / "loader.yaml")
      << "kind: loader\nbatch: 15\ndata:\n  source: hdf5\n  file: data.h5\n"
         "  datasets: [/features/rnfl_input, /labels]\n";
  for (const char* resident : {"2GiB", "0B"}) {
    const auto done = headrace::test::run_program(
        HEADRACE_PROGRAM,
        {"bench", "loader", "loader.yaml", "--set", std::string("data.resident=") + resident},
        {.folder = folder.path()});
    CHECK_MESSAGE(done.status == 0, done.err);
    CHECK(headrace::test::contains(done.err, "is virtual") == (std::string(resident) == "0B"));
  }
}

TEST_CASE("the leak job takes virtual segments") {
  const TemporaryFolder folder;
  headrace::test::write_leak_sounds(folder.path() / "sounds");
  const auto made = headrace::test::run_program(
      HEADRACE_PROGRAM,
      {"prepare", "leak", "--sounds", "sounds", "--output", "out", "--limit", "8"},
      {.folder = folder.path()});
  REQUIRE_MESSAGE(made.status == 0, made.err);
  app::LeakConfig config;
  config.data.training = folder.path() / "out/training.h5";
  config.training.batch = 64;
  config.threads.loader = 2;
  const std::string expected = epoch_of(app::make_leak_loader_job(config));
  REQUIRE_FALSE(expected.empty());
  replace(config.data.training, app::leak_mel_dataset, false);
  CHECK(epoch_of(app::make_leak_loader_job(config)) == expected);
}
