#include <headrace/apps/train/prediction_csv.h>

#include <iterator>

#include <fmt/format.h>

namespace headrace::inline v1::app {

PredictionCsv::PredictionCsv(int classes) : classes_(classes), text_("index") {
  for (int c = 0; c < classes; ++c)
    text_ += fmt::format(",p{}", c);
  text_ += ",predicted\n";
}

void PredictionCsv::add(std::span<const float> probabilities,
                        std::span<const std::int64_t> predicted) {
  const auto classes = static_cast<std::size_t>(classes_);
  const auto out = std::back_inserter(text_);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    fmt::format_to(out, "{}", rows_++);
    for (const float probability : probabilities.subspan(i * classes, classes))
      fmt::format_to(out, ",{:.6f}", probability);
    fmt::format_to(out, ",{}\n", predicted[i]);
  }
}

}  // namespace headrace::inline v1::app
