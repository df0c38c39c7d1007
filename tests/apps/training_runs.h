#pragma once

#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headrace::test {

/// What is done to a good data set, and what must be said of it.
struct WrongData {
  std::string name;
  std::function<void(const std::filesystem::path&)> spoil;
  std::vector<std::string> settings;
  std::vector<std::string> said;
};

/// CHECKs that a training was refused before its first step, and all that must be said.
void check_unstarted(const Finished& finished, const std::vector<std::string>& said);

/// A folder with the configuration job.yaml, in which `headrace train` runs.
class TrainingFolder {
 public:
  explicit TrainingFolder(const std::string& configuration);
  /// One without a configuration.
  TrainingFolder() = default;

  const std::filesystem::path& path() const { return folder_.path(); }
  /// The words of a training with these settings.
  static std::vector<std::string> train(const std::vector<std::string>& settings,
                                        const std::string& file = "job.yaml");
  Finished run(const std::vector<std::string>& words) const;
  /// The same; fails the test unless it ends well.
  Finished done(const std::vector<std::string>& words) const;
  /// Trains a task as `words` say, with a network and pictures so small that a test has time for
  /// them.
  Finished train_small(const std::vector<std::string>& words) const;
  /// CHECKs that job.yaml with the settings is refused before the first step, with all that must be
  /// said; the data are spoilt by now.
  void check_refused(const WrongData& wrong) const;
  /// The folders of all runs so far.
  std::vector<std::filesystem::path> runs(const std::string& parent = "runs") const;
  /// The folder of the one run below `parent`. Fails the test when there are none or more.
  std::filesystem::path only_run(const std::string& parent = "runs") const;

  /// A training that was stopped.
  struct Stopped {
    std::filesystem::path run;
    std::string err;  ///< What it said.
  };
  /// Trains below `parent`, so slowly that a busy machine is still inside the first epoch, sends
  /// SIGINT there and CHECKs what is left. To go on quickly: `delay.transfer=0ms`.
  Stopped stop_in_first_epoch(const std::string& parent) const;

 private:
  TemporaryFolder folder_;
};

/// The newest checkpoint of a run: weights, optimiser, generators, place in the data. Fails the
/// test when there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& run);
/// Whether any run below the folder has written a checkpoint.
bool has_first_checkpoint(const std::filesystem::path& runs);
/// Bytes of the weights that the run found best.
std::string best_weights(const std::filesystem::path& run);

}  // namespace headrace::test
