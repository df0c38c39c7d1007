#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::app {

/// Class probabilities as CSV: header "index,p0,...,predicted", a row for each sample.
class PredictionCsv {
 public:
  explicit PredictionCsv(int classes);

  /// The next rows: `classes` probabilities for each sample, row-major, and its class.
  void add(std::span<const float> probabilities, std::span<const std::int64_t> predicted);

  std::int64_t rows() const { return rows_; }
  const std::string& text() const { return text_; }

 private:
  int classes_;
  std::int64_t rows_ = 0;
  std::string text_;
};

}  // namespace headrace::inline v1::app
