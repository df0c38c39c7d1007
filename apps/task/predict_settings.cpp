#include <headrace/apps/task/predict_settings.h>
#include <headrace/engine/base/error.h>

#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, PredictSettings& predict, const std::function<bool()>& of_volumes) {
  const auto of_rows = [&](std::string doc) {
    KeyOptions options{.doc = std::move(doc)};
    if (!of_volumes) return options;
    options.used_if = [of_volumes] { return !of_volumes(); };
    options.used_when = "data.train.source is pairs, manifest or pack";
    return options;
  };
  fields.tagged("threshold", predict.threshold,
                std::vector<Tag<Threshold>>{
                    alternative<PlainThreshold, Threshold>(
                        "none", "", {}, "the largest score; of single labels what is above 0.5"),
                    alternative<FittedThreshold, Threshold>("fitted", "", {},
                                                            "what the validation finds best"),
                    alternative<GivenThreshold, Threshold>(
                        "at", "value",
                        [](Fields& f, GivenThreshold& given) {
                          f.key("value", given.value,
                                {.doc = "least score that counts", .above = 0.0, .below = 1.0});
                        },
                        "this one")},
                of_rows("by which scores of two classes, or of labels by themselves, become "
                        "decisions: none, fitted (on the validation, kept with the weights), or "
                        "{at: 0.4}"));
  fields.key("tta", predict.tta,
             of_rows("flip, vertical_flip: validation, test and predictions are the mean over the "
                     "pictures and these of them"));
  if (of_volumes) describe(fields, predict.volume, of_volumes);
}

std::vector<std::int64_t> flipped_axes(const PredictSettings& predict) {
  std::vector<std::int64_t> axes;
  for (const std::string& word : predict.tta) {
    if (word != "flip" && word != "vertical_flip")
      throw ConfigError(fmt::format(
          "[config] predict.tta must be a list of flip and vertical_flip, got \"{}\"", word));
    axes.push_back(word == "flip" ? 3 : 2);
  }
  return axes;
}

}  // namespace headrace::inline v1::app
