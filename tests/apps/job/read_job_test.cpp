#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/run/command.h>
#include <headrace/tests/apps/refusal.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::refusal;
using headrace::test::TemporaryFolder;

const fs::path configs = headrace::test::source_folder() + "/configs";

fs::path written(const TemporaryFolder& folder, const std::string& text) {
  const fs::path file = folder.path() / "config.yaml";
  std::ofstream(file) << text;
  return file;
}

}  // namespace

TEST_CASE("every job has a name of its own, its command has one, too, and a line of help") {
  std::set<std::string> names, commands;
  for (const app::Job& job : app::jobs()) {
    CAPTURE(job.name);
    CHECK(names.insert(job.name).second);
    CHECK(job.name != "loader");
    CHECK_FALSE(job.help.empty());
    if (job.prepare) CHECK(commands.insert(job.prepare().name).second);
    CHECK(app::find_job(app::jobs(), job.name) == &job);
  }
  CHECK(names.size() >= 2);
  CHECK(app::find_job(app::jobs(), "loader") == nullptr);
  CHECK(app::find_job(app::jobs(), "") == nullptr);
}

TEST_CASE("every job has configurations, and what is written of them reads back the same") {
  for (const app::Job& job : app::jobs()) {
    for (const char* name : {"demo.yaml", "full.yaml"}) {
      const fs::path file = configs / job.name / name;
      CAPTURE(file);
      const app::TrainingJob training = app::read_training_job(app::jobs(), file, {});
      CHECK(training.name == job.name);
      CHECK(contains(training.yaml, "# " + job.help));
      const TemporaryFolder folder;
      CHECK(app::read_training_job(app::jobs(), written(folder, training.yaml), {}).yaml ==
            training.yaml);
    }
  }
}

TEST_CASE("a job that grows past the limits with its defaults is refused before it is trained") {
  const std::string few =
      "kind: classification\ndata:\n  train: {source: images, folder: pics}\n"
      "  split: {validation: 0.2, test: 0.2}\naugment:\n";
  std::string many = few;
  for (int i = 0; i < 3500; ++i)
    many += "  - color_jitter: {hue: 0.1}\n";
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    return app::read_training_job(app::jobs(), written(folder, text), {});
  };
  CHECK_NOTHROW(read(few + "  - color_jitter: {hue: 0.1}\n"));
  const std::string refused = refusal([&] { read(many); });
  CAPTURE(refused);
  CHECK(contains(refused, "config.yaml, with every key written out:"));
  CHECK(contains(refused, "must hold at most 20000 values"));
}

TEST_CASE("configurations of loaders are read for a bench and refused for training") {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(configs / "loader")) {
    CAPTURE(entry.path());
    const app::InspectJob looked_at = app::read_inspect_job(app::jobs(), entry.path(), {});
    CHECK(looked_at.images.has_value() == (entry.path().stem() != "table"));
    const std::string said =
        refusal([&] { app::read_training_job(app::jobs(), entry.path(), {}); });
    CHECK(contains(said, "to train, got loader; \"headrace bench loader\" runs this"));
    for (const app::Job& job : app::jobs())
      CHECK(contains(said, job.name));
    ++files;
  }
  CHECK(files == 3);
}

TEST_CASE("a kind that is missing or none is refused with all that there are") {
  const TemporaryFolder folder;
  const std::string missing =
      refusal([&] { app::read_bench_job(app::jobs(), written(folder, "seed: 1\n"), {}); });
  CHECK(contains(missing, "key \"kind\" must say what this is, got none"));
  const std::string other = refusal(
      [&] { app::read_bench_job(app::jobs(), written(folder, "seed: 1\nkind: lekr\n"), {}); });
  CHECK(contains(other, "config.yaml:2:1: kind must be "));
  CHECK(contains(other, " or loader, got \"lekr\""));
  for (const app::Job& job : app::jobs()) {
    CHECK(contains(missing, "\"kind: " + job.name + "\""));
    CHECK(contains(other, job.name));
  }
}

TEST_CASE("no job takes a plateau over a figure that it has not, or one that goes the wrong way") {
  const auto refused = [&](const std::string& job, const std::string& plateau) {
    CAPTURE(job);
    return refusal([&] {
      app::read_training_job(app::jobs(), configs / job / "demo.yaml",
                             {"training.schedule={plateau: {" + plateau + "}}"});
    });
  };
  int told = 0;
  for (const app::Job& job : app::jobs()) {
    CHECK_FALSE(refused(job.name, "figure: loss, goal: higher").empty());
    const auto read = app::read_training_job(app::jobs(), configs / job.name / "demo.yaml", {});
    if (read.config->plateau_figures().empty()) continue;  // looked up before the first step
    CHECK(contains(refused(job.name, "figure: nonsense"),
                   "key \"training.schedule.plateau.figure\" must be one of"));
    ++told;
  }
  CHECK(told >= 7);
  CHECK(contains(refused("glaucoma", "figure: macro_f1"),
                 "macro_f1 gets better upwards, but the plateau's goal is lower; set "
                 "training.schedule.plateau.goal=higher"));
  CHECK(contains(refused("leak", "goal: higher"),
                 "loss gets better downwards, but the plateau's goal is higher; set "
                 "training.schedule.plateau.goal=lower"));
  for (const char* right : {"goal: lower", "figure: accuracy, goal: higher"})
    for (const char* job : {"glaucoma", "leak"})
      CHECK(refused(job, right).empty());
  CHECK(refused("leak", "figure: loss_auxiliary").empty());
}
