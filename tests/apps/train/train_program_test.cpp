#include <headrace/tests/apps/glaucoma/small_job.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::best_weights;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::has_first_checkpoint;
using headrace::test::newest_checkpoint;
using headrace::test::run_program;
using headrace::test::SmallGlaucomaJob;
using headrace::test::StartedProgram;

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string last_checkpoint(const fs::path& run) {
  return content_of(newest_checkpoint(run));
}

bool holds_file_like(const fs::path& folder, const std::function<bool(const std::string&)>& like) {
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; entry != end;
       entry.increment(none)) {
    if (none) return false;
    if (like(entry->path().filename().string())) return true;
  }
  return false;
}

// Whether a file of a checkpoint is half written below the folder.
bool writes_checkpoint(const fs::path& runs) {
  return holds_file_like(
      runs, [](const std::string& name) { return contains(name, ".safetensors.tmp-"); });
}

bool has_checkpoint(const fs::path& runs) {
  return holds_file_like(runs, [](const std::string& name) {
    return name.starts_with("checkpoint-") && name.ends_with(".safetensors");
  });
}

// Stopped, it sees both at once when it goes on; which of them comes second is the kernel's choice.
void check_ended_at_once(StartedProgram& program, int one, int other) {
  program.signal(SIGSTOP);
  program.signal(one);
  program.signal(other);
  program.signal(SIGCONT);
  const int status = program.wait();
  CHECK((status == 128 + one || status == 128 + other));
  CHECK_FALSE(contains(program.err(), "to go on: "));
}

// What stands after "to go on: ", as arguments without the program, and without the delay.
Words resume_words(const std::string& text) {
  const std::string mark = "to go on: ";
  const auto at = text.find(mark);
  REQUIRE(at != std::string::npos);
  std::istringstream line(text.substr(at + mark.size()));
  Words words;
  std::string word;
  std::getline(line, word);
  std::istringstream parts(word);
  parts >> word;  // the program
  CHECK(contains(word, "headrace"));
  while (parts >> word)
    words.push_back(word);
  words.insert(words.end(), {"--set", "delay.transfer=0ms"});
  return words;
}

}  // namespace

TEST_CASE("train writes a run folder and says the test accuracy") {
  const SmallGlaucomaJob job;
  const Finished finished =
      job.run(SmallGlaucomaJob::train({"training.epochs=3", "memory.measure=true"}));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "test accuracy "));
  REQUIRE(job.runs().size() == 1);
  const fs::path run = job.runs().front();
  for (const char* file :
       {"config.yaml", "command.txt", "env.json", "events.jsonl", "log.txt", "metrics.csv",
        "checkpoints/fold-0/best.safetensors", "checkpoints/fold-0/result.json"}) {
    CHECK_MESSAGE(fs::exists(run / file), file);
  }
  const std::string csv = content_of(run / "metrics.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(contains(content_of(run / "config.yaml"), "epochs: 3"));
  CHECK(contains(content_of(run / "log.txt"), "test accuracy "));
  for (const char* word : {"data", "compute", "step", "accuracy"}) {
    CHECK_MESSAGE(contains(finished.err, word), word);
  }
  CHECK_FALSE(contains(finished.err, "\x1b"));

  const Finished again = job.run({"train", "--resume", run.string()});
  CHECK(again.status == 0);
  CHECK(again.out == finished.out);  // nothing is left to train
}

TEST_CASE("train without a fold trains all of them") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run(
      SmallGlaucomaJob::train({"training.member=null", "data.folds=3", "training.epochs=1"}));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "over 3 folds"));
  CHECK(contains(finished.out, "all together: test accuracy "));
  const fs::path run = job.runs().front();
  for (const char* fold : {"fold-0", "fold-1", "fold-2"}) {
    CHECK(fs::exists(run / "checkpoints" / fold / "result.json"));
  }
}

TEST_CASE("a member that a call names is trained alone, and the run goes on with all of them") {
  const SmallGlaucomaJob job;
  Words words =
      SmallGlaucomaJob::train({"training.member=null", "data.folds=2", "training.epochs=1"});
  words.insert(words.end(), {"--member", "1"});
  const Finished first = job.run(words);
  REQUIRE_MESSAGE(first.status == 0, first.err);
  const fs::path run = job.runs().front();
  CHECK_FALSE(fs::exists(run / "checkpoints/fold-0"));
  CHECK(contains(content_of(run / "config.yaml"), "member: null"));

  REQUIRE(job.run({"train", "--resume", run.string(), "--fold", "1"}).status == 0);
  CHECK_FALSE(fs::exists(run / "checkpoints/fold-0"));
  CHECK(contains(content_of(run / "config.yaml"), "member: null"));

  const Finished all = job.run({"train", "--resume", run.string()});
  REQUIRE_MESSAGE(all.status == 0, all.err);
  CHECK(contains(all.out, "over 2 folds"));
}

TEST_CASE("a run that SIGINT stopped inside an epoch ends with the weights of one that was not") {
  const SmallGlaucomaJob job;
  const Finished whole = job.run(SmallGlaucomaJob::train({"runs=whole"}));
  REQUIRE_MESSAGE(whole.status == 0, whole.err);

  const auto [cut, said] = job.stop_in_first_epoch("cut");
  const Finished resumed = job.run(resume_words(said));
  REQUIRE_MESSAGE(resumed.status == 0, resumed.err);
  const fs::path uncut = job.only_run("whole");
  CHECK(best_weights(cut) == best_weights(uncut));
  CHECK(last_checkpoint(cut) == last_checkpoint(uncut));
  CHECK(content_of(cut / "checkpoints/fold-0/result.json") ==
        content_of(uncut / "checkpoints/fold-0/result.json"));

  const Finished other = job.run(SmallGlaucomaJob::train({"runs=other", "seed=8"}));
  REQUIRE(other.status == 0);
  CHECK(best_weights(job.only_run("other")) != best_weights(uncut));
}

TEST_CASE("a run is not gone on with other settings than it began with") {
  const SmallGlaucomaJob job;
  REQUIRE(job.run(SmallGlaucomaJob::train({})).status == 0);
  const fs::path run = job.runs().front();
  const std::string before = content_of(run / "config.yaml");
  const auto resume = [&](const std::string& setting) {
    return job.run({"train", "--resume", run.string(), "--set", setting});
  };
  const Finished rate = resume("training.learning_rate=0.01");
  CHECK(rate.status == 2);
  CHECK(contains(rate.err, "training.learning_rate was 0.001, got 0.01"));
  CHECK(resume("training.batch=8").status == 2);
  CHECK(resume("loss.gamma=1").status == 2);
  CHECK(resume("training.schedule=constant").status == 2);
  CHECK(resume("augment=[]").status == 2);
  CHECK(content_of(run / "config.yaml") == before);
  CHECK(resume("threads.loader=2").status == 0);
}

TEST_CASE("a checkpoint of other records is not gone on from") {
  const SmallGlaucomaJob job;
  REQUIRE(job.run(SmallGlaucomaJob::train({})).status == 0);
  const fs::path run = job.runs().front();
  fs::remove(run / "checkpoints/fold-0/result.json");
  headrace::test::write_glaucoma_data(job.path() / "data.h5", SmallGlaucomaJob::train_rows + 40,
                                      SmallGlaucomaJob::test_rows);
  const Finished resumed = job.run({"train", "--resume", run.string()});
  CHECK(resumed.status == 6);
  CHECK(contains(resumed.err, "records"));
}

TEST_CASE("SIGTERM saves and ends with exit 143, and SIGUSR1 with 138") {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const SmallGlaucomaJob job;
    StartedProgram program(headrace::test::headrace_program(),
                           SmallGlaucomaJob::train({"delay.transfer=2s", "memory.measure=false"}),
                           {.folder = job.path()});
    REQUIRE(program.wait_until([&] { return has_first_checkpoint(job.path() / "runs"); }));
    program.signal(signal);
    CHECK(program.wait() == 128 + signal);
    CHECK(contains(program.err(), "to go on: "));
    const Finished resumed = job.run(resume_words(program.err()));
    CHECK_MESSAGE(resumed.status == 0, resumed.err);
  }
}

TEST_CASE("a second signal of any kind ends the program at once, without a last checkpoint") {
  const SmallGlaucomaJob job;
  StartedProgram program(headrace::test::headrace_program(),
                         SmallGlaucomaJob::train({"delay.transfer=2s", "memory.measure=false"}),
                         {.folder = job.path()});
  REQUIRE(program.wait_until([&] { return has_first_checkpoint(job.path() / "runs"); }));
  check_ended_at_once(program, SIGUSR1, SIGTERM);
}

TEST_CASE("train with a key that is not known ends with exit 2 before anything is made") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run(SmallGlaucomaJob::train({"training.batchsize=8"}));
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "training.batch"));
  CHECK(job.runs().empty());
}

TEST_CASE("train with a key that is of no use ends with exit 2") {
  const SmallGlaucomaJob job;
  const Finished finished =
      job.run(SmallGlaucomaJob::train({"loss.name=cross-entropy", "loss.gamma=2"}));
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "loss.gamma"));
}

TEST_CASE("a training configuration can be benched without a model") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run({"bench", "loader", "job.yaml", "--batches", "5"});
  CHECK_MESSAGE(finished.status == 0, finished.err);
  for (const char* step : {"pair mean", "flip", "rotate", "normalize"}) {
    CHECK_MESSAGE(contains(finished.out, step), step);
  }
}

TEST_CASE("train with a batch larger than its samples ends with exit 3 and both numbers") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run(SmallGlaucomaJob::train({"training.batch=512"}));
  CHECK(finished.status == 3);
  CHECK(contains(finished.err, "160"));
  CHECK(contains(finished.err, "512"));
  CHECK(job.runs().empty());
}

TEST_CASE("train that cannot fit its memory ends with exit 4 and the sum") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run(SmallGlaucomaJob::train({"memory=64MiB"}));
  CHECK(finished.status == 4);
  for (const char* word : {"activations", "weights", "total", "limit", "missing"}) {
    CHECK_MESSAGE(contains(finished.err, word), word);
  }
  CHECK(job.runs().empty());
}

TEST_CASE("train whose loss is no number ends with exit 5") {
  const SmallGlaucomaJob job;
  const Finished finished = job.run(
      SmallGlaucomaJob::train({"training.learning_rate=1e30", "training.non_finite=abort"}));
  CHECK(finished.status == 5);
  CHECK(contains(finished.err, "finite"));
  CHECK(contains(content_of(job.runs().front() / "log.txt"), "finite"));
}

TEST_CASE("a run whose checkpoints are damaged is not resumed: exit 6") {
  const SmallGlaucomaJob job;
  REQUIRE(job.run(SmallGlaucomaJob::train({})).status == 0);
  const fs::path run = job.runs().front();
  const fs::path fold = run / "checkpoints/fold-0";
  fs::remove(fold / "result.json");
  for (const auto& entry : fs::directory_iterator(fold)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(entry.path()) / 2));
    file.write("damage", 6);
  }
  const Finished resumed = job.run({"train", "--resume", run.string()});
  CHECK(resumed.status == 6);
  CHECK(contains(resumed.err, "checkpoint-"));
}

TEST_CASE("a GPU that is asked for and absent ends with exit 7 before the first step") {
  if (fs::exists("/dev/nvidiactl")) return headrace::test::skip("this machine has a GPU");
  const SmallGlaucomaJob job;
  const Finished finished = job.run(SmallGlaucomaJob::train({"device=cuda"}));
  CHECK(finished.status == 7);
  CHECK(contains(finished.err, "cuda"));
  CHECK(job.runs().empty());
}

TEST_CASE("a dry run forecasts memory and time, and makes nothing") {
  const SmallGlaucomaJob job;
  Words words = SmallGlaucomaJob::train({"memory.measure=true"});
  words.emplace_back("--dry-run");
  const Finished finished = job.run(words);
  CHECK(finished.status == 0);
  CHECK(contains(finished.out, "total"));
  CHECK(contains(finished.out, "  time: a step takes about "));
  CHECK(job.runs().empty());
}

TEST_CASE("train says what is missing where the program that trains was not built") {
  const SmallGlaucomaJob job;
  const fs::path alone = job.path() / "headrace";
  fs::copy_file(headrace::test::headrace_program(), alone);
  const Finished finished = run_program(alone, SmallGlaucomaJob::train({}), {.folder = job.path()});
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "headrace-train"));
}

TEST_CASE("a second signal ends the program while it writes a checkpoint, and damages none") {
  const SmallGlaucomaJob job;
  StartedProgram program(
      headrace::test::headrace_program(),
      SmallGlaucomaJob::train({"delay.transfer=50ms", "training.checkpoint_every=1",
                               "training.epochs=100000", "training.early_stopping=0"}),
      {.folder = job.path()});
  REQUIRE(program.wait_until([&] {
    return writes_checkpoint(job.path() / "runs") && has_checkpoint(job.path() / "runs");
  }));
  check_ended_at_once(program, SIGUSR1, SIGINT);
  const Finished resumed = job.run({"train", "--resume", job.runs().front().string(), "--set",
                                    "delay.transfer=0ms", "--set", "training.stop_at=0"});
  CHECK_MESSAGE(resumed.status == 0, resumed.err);
  CHECK_FALSE(contains(resumed.err, "going on from the previous good one"));
  CHECK_FALSE(writes_checkpoint(job.path() / "runs"));
}

TEST_CASE("a checkpoint over the limit of a file's size is an error as that of a full disk") {
  const SmallGlaucomaJob job;
  const Finished finished = run_program(
      "/bin/sh",
      {"-c", "ulimit -f 200; exec " + headrace::test::headrace_program() + " train job.yaml"},
      {.folder = job.path()});
  CHECK(finished.status == 4);
  CHECK(contains(finished.err, "checkpoint-000001.safetensors"));
  CHECK(contains(finished.err, "File too large"));
}
