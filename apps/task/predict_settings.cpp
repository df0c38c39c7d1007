#include <headrace/apps/task/predict_settings.h>
#include <headrace/engine/base/error.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, PredictSettings& predict) {
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
                {.doc = "by which scores of two classes, or of labels by themselves, become "
                        "decisions: none, fitted (on the validation, kept with the weights), or "
                        "{at: 0.4}"});
  fields.key("tta", predict.tta,
             {.doc = "flip, vertical_flip: validation, test and predictions are the mean over the "
                     "pictures and these of them"});
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
