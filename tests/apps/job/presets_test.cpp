#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/job/presets.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using namespace headrace::literals;
using headrace::test::widest_line;
using Words = std::vector<std::string>;

const app::PresetMachine preset_machine{.cores = 8, .memory = 64_GiB, .gpu_memory = 24_GiB};

constexpr const char* job_text =
    "kind: glaucoma\ndata: {file: x.h5}\nthreads: {loader: 16}\n"
    "training: {batch: 32, evaluation_batch: 256}\n";

app::TrainingJob job_with(const Words& presets, const Words& own = {}) {
  Words settings = presets;
  settings.insert(settings.end(), own.begin(), own.end());
  return app::read_training_text(app::jobs(), job_text, "job.yaml", settings);
}

app::AppliedPreset applied(const std::string& name, const Words& own = {}) {
  return app::apply_preset(name, preset_machine,
                           [&](const Words& settings) { return job_with(settings, own).yaml; });
}

app::PresetChange change_of(const app::AppliedPreset& preset, const std::string& key) {
  for (const app::PresetChange& change : preset.changes)
    if (change.key == key) return change;
  return {};
}

}  // namespace

TEST_CASE("presets are shares of the machine, and sizes of cards") {
  CHECK(app::presets_for(preset_machine).size() == 11);
  const auto value = [](const std::string& name, const std::string& key) -> std::string {
    for (const app::PresetKey& one : app::find_preset(name, preset_machine).keys)
      if (one.key == key) return one.value;
    return "none";
  };
  CHECK(value("conservative", "memory.limit") == "32GiB");
  CHECK(value("balanced", "memory.limit") == "48GiB");
  CHECK(value("balanced", "threads.loader") == "4");
  CHECK(value("aggressive", "threads.loader") == "8");
  CHECK(value("aggressive", "data.cache.memory") == "16GiB");
  CHECK(value("card-40gb", "memory.gpu") == "36GiB");
  CHECK(value("card-8gb", "memory.gpu") == "7GiB");
  CHECK(value("card-80gb", "threads.loader") == "none");
}

TEST_CASE("a preset of what is not known of the machine leaves it out") {
  for (const app::PresetKey& key : app::find_preset("balanced", {.cores = 1}).keys) {
    CHECK(key.key != "memory.limit");
    CHECK(key.key != "memory.gpu");
    if (key.key == "threads.loader") CHECK(key.value == "1");
  }
}

TEST_CASE("a name that is no preset's is refused with the nearest") {
  CHECK_THROWS_WITH_AS(app::find_preset("card-24", preset_machine),
                       doctest::Contains("did you mean card-24gb?"), headrace::ConfigError);
}

TEST_CASE("a preset says of each key what it was and what it is") {
  const app::AppliedPreset preset = applied("conservative");
  const app::PresetChange threads = change_of(preset, "threads.loader");
  CHECK(threads.before == "16");
  CHECK(threads.after == "2");
  CHECK(change_of(preset, "training.evaluation_batch").after == "32");
  const auto config = job_with(preset.settings).config;
  CHECK(config->threads.loader == 2);
  CHECK(config->memory.limit->value == 32_GiB);
  CHECK(config->memory.fit);
  CHECK(config->training.evaluation_batch == 32);
  const std::string text = app::preset_text(preset);
  CHECK(text.starts_with("preset conservative\n"));
  CHECK(text.find("16 -> 2 (25 % of 8 cores)") != std::string::npos);
  CHECK(widest_line(text) <= 100);
}

TEST_CASE("what --set says wins over the preset, and the preset over the file") {
  const Words own{"threads.loader=5"};
  const app::AppliedPreset preset = applied("conservative", own);
  CHECK(job_with(preset.settings, own).config->threads.loader == 5);
  CHECK(change_of(preset, "threads.loader").after == "5");
  CHECK(job_with(preset.settings, own).config->threads.io == 2);
}

TEST_CASE("no preset changes what is learnt, of any job's configuration") {
  for (const fs::directory_entry& folder :
       fs::directory_iterator(headrace::test::source_folder() + "/configs")) {
    const fs::path file = folder.path() / "full.yaml";
    if (!fs::exists(file)) continue;
    CAPTURE(file.string());
    const app::TrainingJob as_it_is = app::read_training_job(app::jobs(), file, {});
    for (const app::Preset& one : app::presets_for(preset_machine)) {
      CAPTURE(one.name);
      const auto read = [&](const Words& settings) {
        return app::read_training_job(app::jobs(), file, settings);
      };
      const app::AppliedPreset preset = app::apply_preset(
          one.name, preset_machine, [&](const Words& settings) { return read(settings).yaml; });
      CHECK_FALSE(preset.settings.empty());
      const app::TrainingJob with = read(preset.settings);
      CHECK(with.identity == as_it_is.identity);
      CHECK(with.learnt == as_it_is.learnt);
      CHECK(with.config->training.batch == as_it_is.config->training.batch);
    }
  }
}

TEST_CASE("a key that the configuration does not have, or does not let, is left out and said") {
  const auto leak = [](const Words& settings) {
    return app::read_training_job(
               app::jobs(), headrace::test::source_folder() + "/configs/leak/demo.yaml", settings)
        .yaml;
  };
  const app::AppliedPreset without = app::apply_preset("aggressive", preset_machine, leak);
  CHECK(change_of(without, "data.cache.memory").left_out == "this configuration does not use it");
  CHECK(change_of(without, "threads.io").left_out.empty());
  CHECK(app::preset_text(without).find("left out: this configuration") != std::string::npos);
  const app::AppliedPreset on_disk =
      applied("aggressive", {"data.cache.disk=1GiB", "data.cache.folder=/tmp"});
  CHECK(change_of(on_disk, "data.cache.memory").left_out == "data.cache.disk is set");
  CHECK(change_of(on_disk, "data.prefetch").after == "8");
  const app::AppliedPreset refused =
      app::apply_preset("aggressive", preset_machine, [](const Words& settings) {
        if (std::find(settings.begin(), settings.end(), "threads.io=16") != settings.end())
          throw headrace::ConfigError("[config] threads.io: no more than 8");
        return job_with(settings).yaml;
      });
  CHECK(change_of(refused, "threads.io").left_out == "[config] threads.io: no more than 8");
  CHECK(change_of(refused, "data.prefetch").after == "8");
  CHECK(refused.settings.size() == refused.changes.size() - 1);
}

TEST_CASE("a configuration that is wrong by itself is refused as without a preset") {
  CHECK_THROWS_WITH_AS(applied("balanced", {"training.batch=none"}),
                       doctest::Contains("training.batch"), headrace::ConfigError);
}

TEST_CASE("the list of presets fits 100 columns and names all of them") {
  const std::string text = app::presets_text(preset_machine);
  CHECK(widest_line(text) <= 100);
  for (const app::Preset& preset : app::presets_for(preset_machine))
    CHECK(text.find(preset.name) != std::string::npos);
}
