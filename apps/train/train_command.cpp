#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/log_level.h>
#include <headrace/apps/train/train.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, TrainOptions& options) {
  const CLI::Option* config =
      line.add_option("CONFIG", options.config, "Configuration (YAML), or with --data a kind");
  line.add_option("--data", options.data,
                  "CONFIG is a kind (classification, segmentation): propose a configuration for "
                  "these data (headrace new) and train it");
  add_preset(line, options.preset);
  add_settings(line, options.settings);
  const auto resume =
      line.add_option("--resume", options.resume, "Go on with a run folder where it stopped");
  line.add_option("--member,--fold", options.member,
                  "Train this one only: the number of a fold, of a pair of classes")
      ->check(CLI::NonNegativeNumber);
  const auto dry_run =
      line.add_flag("--dry-run", options.dry_run,
                    "Check everything and forecast memory, then stop before the first step");
  const auto require_goals =
      line.add_flag("--require-goals", options.require_goals,
                    "End with exit code 8 where one of the configuration's goals fails, once the "
                    "run is saved")
          ->excludes(dry_run);
  line.add_option("--smoke", options.smoke,
                  "Take so many steps of each stage through every phase (evaluation, checkpoint, "
                  "resume, test), say how long the full run takes, and keep nothing")
      ->check(CLI::PositiveNumber)
      ->excludes(resume)
      ->excludes(require_goals)
      ->excludes(dry_run);
  const auto read_range = [&options](const std::string& text) {
    options.trace = parse_step_range(text);
    if (!options.trace)
      throw CLI::ValidationError("--trace", "must be steps, FIRST..LAST from 1 on, got " + text);
  };
  line.add_option_function<std::string>(
          "--trace", read_range,
          "Write what these steps of the first stage do to RUN/trace.json: 100..120")
      ->excludes(dry_run)
      ->excludes("--smoke");
  line.add_option("--log-level", options.log_level,
                  "What the terminal shows from; else as HEADRACE_LOG_LEVEL says, else info")
      ->check(CLI::IsMember(log_level_words()));
  line.callback([config, &options] {
    if (config->count() == 0 && options.resume.empty()) {
      throw CLI::RequiredError("CONFIG or --resume RUN");
    }
    if (config->count() > 0 && !options.resume.empty()) {
      throw CLI::ValidationError("--resume",
                                 "a run goes on with its own configuration; "
                                 "leave CONFIG out and change keys with --set");
    }
  });
}

}  // namespace

Command train_command() {
  return make_torch_command<TrainOptions>("train", "Train a model as a configuration says", add,
                                          train);
}

}  // namespace headrace::inline v1::app
