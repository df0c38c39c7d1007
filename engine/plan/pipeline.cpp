#include <headrace/engine/base/error.h>
#include <headrace/engine/plan/internal/placeholders.h>
#include <headrace/engine/plan/pipeline.h>

#include <utility>

namespace headrace::inline v1 {

Pipeline Pipeline::from(std::shared_ptr<const Source> source) {
  Pipeline pipeline;
  pipeline.recipe_.source = std::move(source);
  return pipeline;
}

Pipeline Pipeline::named(std::string name) && {
  recipe_.name = std::move(name);
  return std::move(*this);
}

Pipeline Pipeline::seed(std::uint64_t seed) && {
  recipe_.seed = seed;
  return std::move(*this);
}

Pipeline Pipeline::ranks(Ranks ranks) && {
  recipe_.ranks = ranks;
  return std::move(*this);
}

Pipeline Pipeline::on_bad_sample(BadSamples rule) && {
  recipe_.bad_samples = std::move(rule);
  return std::move(*this);
}

Pipeline Pipeline::batch(Batching batching) && {
  if (recipe_.batching)
    throw ConfigError("[" + recipe_.name + "] batch() may be called once, got a second call");
  recipe_.batching = batching;
  return std::move(*this);
}

Pipeline Pipeline::to(Device device) && {
  recipe_.device = device;
  return std::move(*this);
}

Pipeline Pipeline::with_placeholders(std::int64_t rows, std::int64_t samples) const {
  if (!recipe_.batching)
    throw ConfigError("[" + recipe_.name + "] placeholders need a batch(), there is none yet");
  Pipeline pipeline = *this;
  detail::replace_by_placeholders(pipeline.recipe_, samples);
  pipeline.recipe_.batching->size = rows;
  return pipeline;
}

void Pipeline::misplaced(const std::string& name, const char* rule) {
  throw ConfigError("[" + (name.empty() ? std::string("step") : name) + "] " + rule);
}

}  // namespace headrace::inline v1
