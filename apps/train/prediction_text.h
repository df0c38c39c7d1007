#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class PredictionFormat : unsigned char {
  csv,         ///< a head, then a row for each case
  json_lines,  ///< an object for each case
};

/// JSON lines for a name that ends in .jsonl, else CSV.
PredictionFormat prediction_format(const std::filesystem::path& file);

/// The words of a recipe's note of that name, a JSON list. Throws ConfigError for another text.
std::vector<std::string> words_of_note(const std::string& name, const std::string& note);

/// The next cases of a PredictionText.
struct PredictedCases {
  std::span<const float> probabilities{};     ///< `classes` for each case, row-major
  std::span<const std::int64_t> predicted{};  ///< a class a case, or 0 or 1 for each of its classes
  std::span<const std::string> files{};       ///< where each came from; empty: not known
};

/// Class probabilities as the text of a file. CSV: columns "index", "file" where it is known, "p0"
/// or "p_<name>" for each class, and "predicted": the class, by its name where it has one, several
/// with ';' between. JSON lines: the same keys, "probabilities" as a list, or an object by name.
class PredictionText {
 public:
  /// Throws ConfigError where there are names, but not one for each class.
  PredictionText(PredictionFormat format, std::int64_t classes, std::vector<std::string> names);

  void add(const PredictedCases& cases);

  std::int64_t cases() const { return cases_; }
  const std::string& text() const { return text_; }

 private:
  void head(bool files);
  void add_csv(std::span<const float> probabilities, std::span<const std::int64_t> predicted,
               const std::string* file);
  void add_json(std::span<const float> probabilities, std::span<const std::int64_t> predicted,
                const std::string* file);

  PredictionFormat format_;
  std::size_t classes_;
  std::vector<std::string> names_;
  std::int64_t cases_ = 0;
  std::string text_;
};

}  // namespace headrace::inline v1::app
