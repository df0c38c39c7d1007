#include <headrace/apps/feed/augment/operation.h>

#include <utility>

namespace headrace::inline v1::app {

void describe(Fields& fields, Interpolation& interpolation) {
  fields.choice("interpolation", interpolation,
                {{"nearest", Interpolation::nearest}, {"bilinear", Interpolation::bilinear}},
                {.doc = "of pixels; of masks it is always nearest"});
}

KeyOptions probability(std::string doc) {
  return {.doc = std::move(doc), .min = 0.0, .max = 1.0};
}

KeyOptions level(std::string doc) {
  return {.doc = std::move(doc), .unit = "level", .min = 0.0, .max = 255.0};
}

}  // namespace headrace::inline v1::app
