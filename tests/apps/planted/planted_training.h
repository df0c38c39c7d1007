#pragma once

#include <headrace/tests/apps/training_runs.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::test {

/// What a training said of itself.
struct Told {
  std::vector<nlohmann::json> advice;  ///< advice.jsonl
  std::vector<nlohmann::json> epochs;  ///< of metrics.jsonl
  std::string err;

  /// The first advice of that rule. CHECKs that every advice that blames something has this rule;
  /// what it says of strangers on the machine (rule 19) may be true and is left out. Fails the test
  /// where there is none.
  const nlohmann::json& only(const std::string& rule) const;
  bool says(const std::string& rule) const;
  /// CHECKs that nothing was blamed, strangers left out, and nothing warned of.
  void check_silent() const;
  /// All of its advice as text, for failures.
  std::string text() const;
};

inline std::string text_of(const nlohmann::json& advice, const char* key) {
  return advice.at(key).get<std::string>();
}

/// A training into which something is planted.
class PlantedTraining : public TrainingFolder {
 public:
  using TrainingFolder::TrainingFolder;

  /// Trains to the end; `by` are words of a program that becomes the training. Fails the test
  /// unless it ends well.
  Told told(const std::vector<std::string>& settings, std::vector<std::string> by = {}) const;
  /// Likewise another program than `headrace`.
  Told told_by(const std::string& program, const std::vector<std::string>& words) const;
  /// The one run below runs/, which is removed.
  Told take_run(std::string err) const;
};

/// A training of a small network on rows in memory, whose steps take two milliseconds.
class RowTraining : public PlantedTraining {
 public:
  RowTraining();
};

/// A training on pictures, PNG files of two classes that differ in brightness.
class PictureTraining : public PlantedTraining {
 public:
  struct Pictures {
    int small = 0;       ///< of 48 x 48 pixels
    int large = 0;       ///< mixed with them
    int large_side = 0;  ///< pixels
  };
  explicit PictureTraining(const Pictures& pictures);
};

/// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace headrace::test
