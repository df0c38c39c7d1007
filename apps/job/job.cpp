#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/job/job.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

#include <set>

namespace headrace::inline v1::app {

namespace {

void describe(Fields& fields, MemorySettings& memory) {
  fields.key("limit", memory.limit,
             {.doc = "what the process may hold; null: what the machine offers"});
  fields.key("gpu", memory.gpu,
             {.doc = "what may be reserved of the GPU's memory; null: what it has free"});
  fields.key("fit", memory.fit,
             {.doc = "a stage that would not fit gets smaller micro-batches and more of them: the "
                     "same effective batch"});
  fields.key("measure", memory.measure,
             {.doc = "steps of each stage are tried in a process of their own before the first, to "
                     "see what they take"});
}

}  // namespace

void describe(Fields& fields, RunSettings& settings) {
  fields.key("seed", settings.seed, {.doc = "of everything random"});
  fields.choice(
      "device", settings.device,
      {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}},
      {.doc = "auto takes a GPU if there is one"});
  fields.section("memory", [&](Fields& f) { describe(f, settings.memory); },
                 {.doc = "What a run may hold; memory: 10GiB is its limit", .main = "limit"});
  fields.section("goals", [&](Fields& f) { describe(f, settings.goals); },
                 {.doc = "What the end of a run says passed or failed"});
  fields.key("runs", settings.runs, {.doc = "folder of the run folders"});
  fields.key("tensorboard", settings.tensorboard,
             {.doc = "writes tb/ in the run folder: what metrics.jsonl and metrics.csv say, and "
                     "pictures, for TensorBoard"});
  fields.key("log_every", settings.log_every,
             {.doc = "steps between rows of metrics.jsonl and points of TensorBoard; 0: about 5 "
                     "seconds; the end of an epoch has one always",
              .min = 0.0});
  fields.map("smoke", settings.smoke,
             {.doc = "keys as in the rest of the file, whose values hold with --smoke alone, in "
                     "every stage: smaller shapes for a smaller machine"});
  fields.section("threads", [&](Fields& f) { describe(f, settings.threads, true); });
}

JobConfig::~JobConfig() = default;

void JobConfig::describe_keys(Fields& fields) {
  describe(fields, static_cast<RunSettings&>(*this));
  fields.section("training", [this](Fields& f) { describe(f, training); });
}

void JobConfig::settle(const Fields&) {}

void JobConfig::check_data() const {}

void JobConfig::check() const {
  app::check(training);
  check_plateau(training, plateau_figures());
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

std::span<const std::string> JobConfig::plateau_figures() const {
  return {};
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
