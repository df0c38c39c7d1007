// Reports of what headrace train has written, to its end or not.
#include <headrace/apps/report/run_record.h>
#include <headrace/apps/report/write_report.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/report/tag_balance.h>
#include <headrace/tests/apps/training_runs.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using namespace headrace::app;
using headrace::test::contains;
using headrace::test::fault_of_markup;
using headrace::test::Finished;
using headrace::test::StartedProgram;
using headrace::test::TrainingFolder;

// 3 epochs of 10 steps.
class SmallJob : public TrainingFolder {
 public:
  SmallJob()
      : TrainingFolder(
            "kind: glaucoma\ndevice: cpu\ndata:\n  file: data.h5\ntraining:\n  epochs: 3\n"
            "  batch: 16\n  evaluation_batch: 20\n  member: 0\nthreads:\n  loader: 1\n  torch: 1\n"
            "memory:\n  measure: false\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 200, 40);
  }
};

}  // namespace

TEST_CASE("a run that headrace train has made is reported and compared whole") {
  const SmallJob job;
  job.done(TrainingFolder::train({"goals.ram=10GiB"}));
  const fs::path run = job.only_run();
  const RunRecord record = read_run(run);
  CHECK(record.end == RunEnd::finished);
  CHECK(record.remarks.empty());
  CHECK(record.epochs.rows().size() == 3);
  REQUIRE(record.goals.size() == 1);
  CHECK(record.goals[0].passed == true);
  CHECK_FALSE(record.events.device.empty());
  CHECK_FALSE(record.events.verdicts.empty());
  CHECK(record.results.size() == 1);
  const Finished report = job.run({"report", run.string()});
  REQUIRE_MESSAGE(report.status == 0, report.err);
  const std::string page = report_page(run);
  CHECK(fault_of_markup(page) == "");
  for (const char* part : {"What a step is made of", "Held by the process", "results.png",
                           "balanced_accuracy", "learning rate"}) {
    CAPTURE(std::string(part));
    CHECK(contains(page, part));
  }
  const Finished compared = job.run({"compare", run.string(), run.string()});
  REQUIRE_MESSAGE(compared.status == 0, compared.err);
  CHECK(contains(compared.out, "no key differs"));
  CHECK(contains(compared.out, "the same"));
}

TEST_CASE("a run at work is reported as such, and after SIGKILL with what it came to") {
  const SmallJob job;
  StartedProgram training(
      headrace::test::headrace_program(),
      TrainingFolder::train(
          {"training.epochs=100000", "training.early_stopping=0", "delay.consumer=20ms"}),
      {.folder = job.path()});
  const auto has_epochs = [&job] {
    const auto runs = job.runs();
    return !runs.empty() && !read_csv_file(runs.front() / "metrics.csv").rows.empty();
  };
  REQUIRE(training.wait_until(has_epochs));
  const fs::path run = job.only_run();
  CHECK(read_run(run).end == RunEnd::running);
  CHECK(fault_of_markup(report_page(run)) == "");
  training.signal(SIGKILL);
  CHECK(training.wait() == 128 + SIGKILL);
  const RunRecord record = read_run(run);
  CHECK(record.end == RunEnd::killed);
  CHECK_FALSE(record.epochs.empty());
  CHECK(contains(report_page(run), "ended without a word"));
}
