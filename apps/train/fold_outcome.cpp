#include <headrace/apps/train/fold_outcome.h>

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/run/atomic_file.h>

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

std::optional<FoldOutcome> read_fold_outcome(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "result.json";
  std::ifstream stream(file);
  if (!stream) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(stream);
    return FoldOutcome{.validation_accuracy = json.at("validation_accuracy").get<double>(),
                       .best_epoch = json.at("best_epoch").get<std::int64_t>(),
                       .test_accuracy = json.at("test_accuracy").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    throw Failure(ExitCode::checkpoint,
                  fmt::format("[resume] {} must be what a finished fold wrote, got: {}; remove it "
                              "to evaluate the fold again",
                              file.string(), error.what()));
  }
}

void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome) {
  const nlohmann::ordered_json json{{"validation_accuracy", outcome.validation_accuracy},
                                    {"best_epoch", outcome.best_epoch},
                                    {"test_accuracy", outcome.test_accuracy}};
  write_file_atomically(folder / "result.json", json.dump(2) + "\n");
}

}  // namespace headrace::inline v1::app
