#include <headrace/apps/train/bad_step.h>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

using nlohmann::ordered_json;

std::string to_json(const BadStepFacts& bad, const FoldView& fold) {
  ordered_json json{{"member", fold.fold}};
  if (!fold.stage.empty()) json["stage"] = fold.stage;
  json["epoch"] = bad.epoch;
  json["step"] = bad.step;
  json["loss"] = bad.loss;
  json["gradient_norm"] = bad.gradient_norm;
  json["done"] = bad.done;
  json["samples"] = ordered_json::array();
  for (const Origin& sample : bad.samples)
    json["samples"].push_back(
        {{"index", sample.index}, {"position", sample.position}, {"file", sample.file}});
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace headrace::inline v1::app
