#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/commands/run_command.h>
#include <headrace/apps/train/backend_torch.h>
#include <headrace/apps/train/predict_torch.h>
#include <headrace/apps/train/train.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/numeric_error.h>

#include <c10/util/Exception.h>

#include <string>
#include <vector>

namespace {

namespace app = headrace::app;

app::ExitCode run(const app::Command& command, const std::vector<std::string>& arguments) {
  try {
    if (const auto* train = std::get_if<app::TrainOptions>(&command)) {
      app::TorchBackend backend;
      return app::train(*train, arguments, backend);
    }
    if (const auto* predict = std::get_if<app::PredictOptions>(&command)) {
      return app::predict(*predict);
    }
  } catch (const headrace::training::CheckpointError& error) {
    throw app::Failure(app::ExitCode::checkpoint, error.what());
  } catch (const headrace::training::NumericError& error) {
    throw app::Failure(app::ExitCode::numeric, error.what());
  } catch (const c10::OutOfMemoryError& error) {
    throw app::Failure(app::ExitCode::resources, error.what_without_backtrace());
  }
  throw app::Failure(app::ExitCode::configuration,
                     "headrace-train trains and predicts; start headrace for this command");
}

}  // namespace

// Everything that needs LibTorch; the program headrace becomes this one.
int main(int argc, char** argv) {
  const app::CommandLine line = app::parse_command_line(argc, argv);
  if (!line.command) return line.exit_code;
  const std::vector<std::string> arguments(argv, argv + argc);
  return app::run_command([&] { return run(*line.command, arguments); });
}
