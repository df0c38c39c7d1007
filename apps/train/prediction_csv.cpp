#include <headrace/apps/train/prediction_csv.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace headrace::inline v1::app {

PredictionCsv::PredictionCsv(int classes) : classes_(classes), text_("index") {
  for (int c = 0; c < classes; ++c)
    text_ += fmt::format(",p{}", c);
  text_ += ",predicted\n";
}

void PredictionCsv::add(std::span<const float> probabilities) {
  const auto classes = static_cast<std::size_t>(classes_);
  const auto out = std::back_inserter(text_);
  for (std::size_t first = 0; first + classes <= probabilities.size(); first += classes) {
    const std::span<const float> row = probabilities.subspan(first, classes);
    fmt::format_to(out, "{}", rows_++);
    for (const float probability : row)
      fmt::format_to(out, ",{:.6f}", probability);
    fmt::format_to(out, ",{}\n", std::max_element(row.begin(), row.end()) - row.begin());
  }
}

}  // namespace headrace::inline v1::app
