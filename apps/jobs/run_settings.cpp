#include <headrace/apps/jobs/run_settings.h>

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

}  // namespace headrace::inline v1::app
