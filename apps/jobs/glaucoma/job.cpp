#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/glaucoma/prepare.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void GlaucomaConfig::check() const {
  JobConfig::check();
  app::check(model);
  if (training.member && *training.member >= data.folds) {
    throw ConfigError(fmt::format("[config] training.member must be below data.folds = {}, got {}",
                                  data.folds, *training.member));
  }
  if (training.batch < 2)
    throw ConfigError("[config] training.batch must be at least 2 for this network's norms, got 1");
}

LoaderJob GlaucomaConfig::loader_job() const {
  return make_glaucoma_loader_job(*this);
}

std::vector<DataPart> GlaucomaConfig::data_parts() const {
  return glaucoma_data_parts(*this);
}

Job glaucoma_job() {
  return {.name = "glaucoma",
          .help = "five classes from three pairs of maps of an eye, over stratified folds",
          .config = [] { return std::make_shared<GlaucomaConfig>(); },
          .prepare = prepare_glaucoma_command};
}

}  // namespace headrace::inline v1::app
