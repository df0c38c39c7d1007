#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/job.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

#include <set>

namespace headrace::inline v1::app {

JobConfig::~JobConfig() = default;

void JobConfig::describe_keys(Fields& fields) {
  describe(fields, static_cast<RunSettings&>(*this));
  fields.section("training", [this](Fields& f) { describe(f, training); });
}

void JobConfig::settle(const Fields&) {}

void JobConfig::check() const {
  app::check(training);
  std::set<std::string> names;
  for (const auto& stage : stages) {
    if (!names.insert(stage->training.name).second)
      throw ConfigError("[config] training.stages must have different names, got \"" +
                        stage->training.name + "\" twice");
    if (stage->training.channels_last != training.channels_last)
      throw ConfigError(
          "[config] training.stages: channels_last must be the same in all stages; "
          "set training.channels_last, and leave it out in stage \"" +
          stage->training.name + '"');
    stage->check();
  }
}

const JobConfig& JobConfig::of_stage(std::int64_t number) const {
  return stages.empty() ? *this : *stages.at(static_cast<std::size_t>(number));
}

std::vector<std::string> JobConfig::frozen() const {
  return {};
}

int JobConfig::prefetch() const {
  return 4;
}

LoaderJob JobConfig::loader_job() const {
  throw ConfigError(
      "[loader] this kind of configuration must say which loader it has to be looked at or timed "
      "(JobConfig::loader_job), says nothing; train with --dry-run to see its forecast");
}

std::vector<DataPart> JobConfig::data_parts() const {
  const auto records = loader_job().source.outline;
  return {{.records = records, .fields = records->fields()}};
}

std::optional<MaskFormat> JobConfig::mask_format() const {
  return std::nullopt;
}

}  // namespace headrace::inline v1::app
