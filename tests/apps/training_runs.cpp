#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <system_error>

#include <doctest/doctest.h>

namespace headrace::test {

namespace fs = std::filesystem;

namespace {

// The folder of the run's first member.
fs::path first_member(const fs::path& run) {
  const std::set<fs::path> members{fs::directory_iterator(run / "checkpoints"), {}};
  REQUIRE_FALSE(members.empty());
  return *members.begin();
}

}  // namespace

TrainingFolder::TrainingFolder(const std::string& configuration) {
  std::ofstream(path() / "job.yaml") << configuration;
}

void check_unstarted(const Finished& finished, const std::vector<std::string>& said) {
  CHECK(finished.status != 0);
  for (const std::string& words : said)
    CHECK_MESSAGE(contains(finished.err, words), words << "\n" << finished.err);
  CHECK_FALSE(contains(finished.err, "epoch 1"));
}

std::vector<std::string> TrainingFolder::train(const std::vector<std::string>& settings,
                                               const std::string& file) {
  std::vector<std::string> words{"train", file};
  for (const std::string& setting : settings) {
    words.push_back("--set");
    words.push_back(setting);
  }
  return words;
}

Finished TrainingFolder::run(const std::vector<std::string>& words) const {
  return run_headrace(path(), words);
}

Finished TrainingFolder::done(const std::vector<std::string>& words) const {
  Finished finished = run(words);
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return finished;
}

void TrainingFolder::check_refused(const WrongData& wrong) const {
  CAPTURE(wrong.name);
  std::vector<std::string> words{"job.yaml"};
  for (const std::string& setting : wrong.settings)
    words.insert(words.end(), {"--set", setting});
  check_unstarted(train_small(words), wrong.said);
}

Finished TrainingFolder::train_small(const std::vector<std::string>& words) const {
  std::vector<std::string> all{"train"};
  const auto own = std::find(words.begin(), words.end(), "--set");  // these come last: they win
  all.insert(all.end(), words.begin(), own);
  for (const char* setting :
       {"model.width=0.25", "image.size=32", "training.epochs=2", "training.batch=4",
        "threads.torch=1", "device=cpu", "data.listings=\"\"", "memory.measure=false"})
    all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), own, words.end());
  return run(all);
}

std::vector<fs::path> TrainingFolder::runs(const std::string& parent) const {
  std::vector<fs::path> found;
  if (!fs::exists(path() / parent)) return found;
  for (const auto& entry : fs::directory_iterator(path() / parent))
    if (entry.path().filename() != "listings") found.push_back(entry.path());
  return found;
}

fs::path TrainingFolder::only_run(const std::string& parent) const {
  const std::vector<fs::path> all = runs(parent);
  REQUIRE(all.size() == 1);
  return all.front();
}

TrainingFolder::Stopped TrainingFolder::stop_in_first_epoch(const std::string& parent) const {
  StartedProgram program(headrace::test::headrace_program(),
                         train({"runs=" + parent, "delay.transfer=2s", "memory.measure=false"}),
                         {.folder = path()});
  REQUIRE(program.wait_until([&] { return has_first_checkpoint(path() / parent); }));
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
  const fs::path run = only_run(parent);
  CHECK_FALSE(fs::exists(first_member(run) / "result.json"));
  CHECK(content_of(run / "metrics.csv").empty());
  return {.run = run, .err = program.err()};
}

fs::path newest_checkpoint(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(first_member(run))) {
    if (entry.path().filename().string().starts_with("checkpoint-")) files.push_back(entry.path());
  }
  REQUIRE_FALSE(files.empty());
  return *std::max_element(files.begin(), files.end());
}

bool has_first_checkpoint(const fs::path& runs) {
  std::error_code none;
  for (fs::recursive_directory_iterator entry(runs, none), end; entry != end;
       entry.increment(none)) {
    if (none) return false;
    if (entry->path().filename() == "checkpoint-000001.safetensors") return true;
  }
  return false;
}

std::string best_weights(const fs::path& run) {
  return content_of(first_member(run) / "best.safetensors");
}

}  // namespace headrace::test
