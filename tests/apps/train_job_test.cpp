// The configuration that a training works on, and what of it the run folder keeps.
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/train/train.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using app::TrainingJob;
using app::TrainOptions;

namespace {

// A configuration as a file, and as the one of a run folder.
class Written {
 public:
  explicit Written(const std::string& training) {
    for (const char* name : {"job.yaml", "config.yaml"})
      std::ofstream(folder_.path() / name)
          << "kind: glaucoma\ndata: {file: x.h5, folds: 3}\n" + training;
  }

  TrainOptions begun() const { return {.config = folder_.path() / "job.yaml"}; }
  TrainOptions resumed() const { return {.resume = folder_.path()}; }

 private:
  test::TemporaryFolder folder_;
};

bool keeps(const TrainingJob& job, const std::string& line) {
  return job.yaml.find("  " + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the member of a call is trained alone, and the run keeps that it is of all") {
  const Written written("");
  for (TrainOptions options : {written.begun(), written.resumed()}) {
    options.member = 1;
    const TrainingJob job = app::read_train_job(options, app::jobs());
    CHECK(job.config->training.member == 1);
    CHECK(keeps(job, "member: null"));
    options.member = 3;
    CHECK_THROWS_WITH_AS(app::read_train_job(options, app::jobs()),
                         doctest::Contains("training.member"), ConfigError);
  }
}

TEST_CASE("a member that the configuration names is kept, whatever the call is for") {
  const Written written("training: {member: 2}\n");
  TrainOptions options = written.resumed();
  CHECK(app::read_train_job(options, app::jobs()).config->training.member == 2);
  options.member = 0;
  const TrainingJob job = app::read_train_job(options, app::jobs());
  CHECK(job.config->training.member == 0);
  CHECK(keeps(job, "member: 2"));
  options.settings = {"threads.loader=2", "training.member=1"};
  CHECK(keeps(app::read_train_job(options, app::jobs()), "member: 1"));
}

TEST_CASE("a run goes on with what it began with, the member aside") {
  const Written written("");
  TrainOptions options = written.resumed();
  options.settings = {"training.learning_rate=0.5"};
  CHECK_THROWS_WITH_AS(app::read_train_job(options, app::jobs()),
                       doctest::Contains("learning_rate"), ConfigError);
  options.settings = {"training.member=1"};
  CHECK(app::read_train_job(options, app::jobs()).config->training.member == 1);
}
