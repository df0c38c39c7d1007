// What `headrace config` prints, and docs/configuration.md, which is that.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/job/configuration_text.h>
#include <headrace/apps/job/presets.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

Finished config(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  std::vector<std::string> all{"config"};
  all.insert(all.end(), words.begin(), words.end());
  return run_headrace(folder.path(), all);
}

}  // namespace

TEST_CASE("the page of configurations says what headrace config prints of all kinds") {
  const fs::path page = fs::path(headrace::test::source_folder()) / "docs/configuration.md";
  const std::string mark = "<!-- headrace config --all -->\n\n";
  const std::string text = headrace::test::content_of(page);
  const auto start = text.find(mark);
  REQUIRE(start != std::string::npos);
  const Finished printed = config({"--all"});
  CHECK(printed.status == 0);
  const std::string wanted = text.substr(0, start + mark.size()) + printed.out;
  if (std::getenv("HEADRACE_WRITE_DOCS") != nullptr) std::ofstream(page) << wanted;
  CHECK_MESSAGE(headrace::test::content_of(page) == wanted,
                "run this test once with HEADRACE_WRITE_DOCS=1");
}

TEST_CASE("config names every key of a kind under its section") {
  for (const app::KindLine& kind : app::configuration_kinds(app::jobs())) {
    CAPTURE(kind.name);
    const std::string text = app::configuration_text(app::jobs(), kind.name);
    app::LoaderConfig loader;
    app::Fields fields;
    std::shared_ptr<app::JobConfig> config;
    for (const app::Job& job : app::jobs())
      if (job.name == kind.name) config = job.config();
    if (config)
      config->describe_keys(fields);
    else
      describe(fields, loader);
    for (const std::string& path : fields.paths()) {
      const auto dot = path.rfind('.');
      const std::string key = "\n| `" + path.substr(dot == std::string::npos ? 0 : dot + 1) + "` |";
      const std::string section =
          dot == std::string::npos ? "" : "\n### `" + path.substr(0, dot) + "`\n";
      const auto at = text.find(section);
      REQUIRE_MESSAGE(at != std::string::npos, path);
      const std::string in = text.substr(at, text.find("\n###", at + section.size() + 1) - at);
      CHECK_MESSAGE(contains(in, key), path);
    }
  }
}

TEST_CASE("config says default, range, unit and use of a key, and the parameters of each entry") {
  const Finished loader = config({"loader"});
  CHECK(loader.status == 0);
  for (const char* row :
       {"| `row_bytes` | 640 | 1 to 1000000000 bytes | of a row, beside its label; only where "
        "data.source is synthetic |",
        "| `source` | synthetic | synthetic, hdf5, images, manifest, pairs, pack |"})
    CHECK_MESSAGE(contains(loader.out, row), row);
  const Finished glaucoma = config({"glaucoma"});
  CHECK(contains(glaucoma.out, "| `file` | required | | HDF5 file with features/*"));
  CHECK(contains(glaucoma.out, "### `training.schedule: cosine`"));
  CHECK(contains(glaucoma.out, "`cosine: value` sets `warmup_epochs`."));
  CHECK(contains(glaucoma.out, "| `warmup_start` | 0.1 | 0.0 to 1.0 |"));
  CHECK(contains(glaucoma.out, "| `augment` | [{flip: {p: 0.5}}, "));
  CHECK(config({"augment"}).out == "## augment\n" + app::augment_table_text());
}

TEST_CASE(
    "config without a kind lists them, and one that is not known is refused with the nearest") {
  const Finished list = config({});
  CHECK(list.status == 0);
  for (const app::KindLine& kind : app::configuration_kinds(app::jobs()))
    CHECK_MESSAGE(contains(list.out, kind.name + " "), kind.name);
  const Finished wrong = config({"glaucom"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "did you mean glaucoma?"));
}

TEST_CASE(
    "config lists the presets with their values for this machine, and names them as no kind") {
  const Finished list = config({});
  CHECK(contains(list.out, "presets"));
  const Finished presets = config({"presets"});
  CHECK(presets.status == 0);
  CHECK(presets.out == app::presets_text(app::this_machine()));
  CHECK(contains(presets.out, "card-80gb"));
}
