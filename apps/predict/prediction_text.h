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

/// Why cases were decided as they were: a value for each.
struct PredictedReason {
  std::string name{};
  std::span<const float> values{};
};

/// The next cases of a PredictionText.
struct PredictedCases {
  std::span<const float> probabilities{};     ///< `classes` for each case, row-major
  std::span<const std::int64_t> predicted{};  ///< a class a case, or 0 or 1 for each of its classes
  std::span<const std::string> files{};       ///< printable_name() of each; empty: not known
  std::span<const PredictedReason> reasons{};  ///< of the same names each time
  std::span<const std::int64_t> unread{};      ///< those that could not be read, ascending
};

/// Class probabilities as the text of a file. CSV: columns "index", "file" where it is known, "p0"
/// or "p_<name>" for each class, "predicted": the class, by its name where it has one, several with
/// ';' between and none where a probability is no number, and a column for each reason, empty where
/// its value is no number. JSON lines: the
/// same keys, "probabilities" as a list, or an object by name, and "reasons", an object, where
/// there are some. Files have the bytes of their names; in JSON lines those that are no UTF-8 as
/// \udcHH, as Python's os.fsdecode() has them. A case that could not be read has its index and its
/// file alone; the others of its cells are empty, in JSON lines null.
class PredictionText {
 public:
  /// Throws ConfigError where there are names, but not one for each class.
  PredictionText(PredictionFormat format, std::int64_t classes, std::vector<std::string> names);

  /// Throws ConfigError for reasons of other names than before, or not of each case.
  void add(const PredictedCases& cases);

  std::int64_t cases() const { return cases_; }
  /// Of them those that have no class, since a probability is NaN, and the first: its file, else
  /// its number.
  std::int64_t without_class() const { return without_class_; }
  const std::string& first_without() const { return first_without_; }
  const std::string& text() const { return text_; }

 private:
  // One of the cases.
  struct Row {
    std::span<const float> probabilities;
    std::span<const std::int64_t> predicted;
    const std::string* file;     // null: not known
    std::vector<float> reasons;  // in the order of their names
    bool unread;
  };

  void take_reasons(const PredictedCases& cases, std::size_t count);
  void head(bool files);
  void add_csv(const Row& row);
  void add_json(const Row& row);

  PredictionFormat format_;
  std::size_t classes_;
  std::vector<std::string> names_;
  std::vector<std::string> reasons_;  // their names
  std::int64_t cases_ = 0;
  std::int64_t without_class_ = 0;
  std::string first_without_;
  std::string text_;
};

}  // namespace headrace::inline v1::app
