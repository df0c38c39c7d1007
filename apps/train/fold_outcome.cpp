#include <headrace/apps/train/fold_outcome.h>

#include <headrace/apps/config/exit_codes.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <cmath>
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
                       .test_accuracy = json.at("test_accuracy").get<double>(),
                       .more = json.value("more", std::map<std::string, double>{})};
  } catch (const nlohmann::json::exception& error) {
    throw Failure(ExitCode::checkpoint,
                  fmt::format("[resume] {} must be what a finished fold wrote, got: {}; remove it "
                              "to evaluate the fold again",
                              file.string(), error.what()));
  }
}

std::string fold_results(const std::vector<std::pair<int, FoldOutcome>>& outcomes) {
  std::string text;
  double sum = 0.0;
  double squares = 0.0;
  for (const auto& [fold, outcome] : outcomes) {
    text += fmt::format(
        "fold {}: test accuracy {:.4f}, selected at epoch {} by validation accuracy {:.4f}\n", fold,
        outcome.test_accuracy, outcome.best_epoch + 1, outcome.validation_accuracy);
    sum += outcome.test_accuracy;
    squares += outcome.test_accuracy * outcome.test_accuracy;
  }
  const auto count = static_cast<double>(outcomes.size());
  const double mean = sum / count;
  if (outcomes.size() == 1) return text + fmt::format("test accuracy {:.4f}", mean);
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  return text + fmt::format("test accuracy {:.4f} +- {:.4f} over {} folds", mean, deviation,
                            outcomes.size());
}

void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome) {
  const nlohmann::ordered_json json{{"validation_accuracy", outcome.validation_accuracy},
                                    {"best_epoch", outcome.best_epoch},
                                    {"test_accuracy", outcome.test_accuracy},
                                    {"more", outcome.more}};
  write_file_atomically(folder / "result.json", json.dump(2) + "\n");
}

}  // namespace headrace::inline v1::app
