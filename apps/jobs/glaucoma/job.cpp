#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/glaucoma/prepare.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void GlaucomaConfig::describe_keys(Fields& fields) {
  describe(fields, *this);
}

void GlaucomaConfig::check() const {
  if (training.fold && *training.fold >= training.folds) {
    throw ConfigError(
        fmt::format("[config] training.fold must be below training.folds = {}, got {}",
                    training.folds, *training.fold));
  }
}

LoaderJob GlaucomaConfig::loader_job() const {
  return make_glaucoma_loader_job(*this);
}

Job glaucoma_job() {
  return {.name = "glaucoma",
          .help = "five classes from three pairs of maps of an eye, over stratified folds",
          .config = [] { return std::make_shared<GlaucomaConfig>(); },
          .prepare = prepare_glaucoma_command()};
}

}  // namespace headrace::inline v1::app
