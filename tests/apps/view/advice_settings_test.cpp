// What advice tells a person to change is there to be changed: a key of the kind at hand, or a
// command.
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/advice/adviser.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/monitor/run_window.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

namespace app = headrace::app;
using namespace headrace::test;

using Keys = std::vector<std::string>;

Keys keys_of_loader() {
  app::LoaderConfig loader;
  app::Fields fields;
  describe(fields, loader);
  return fields.paths();
}

Keys keys_of(const app::Job& job) {
  const auto config = job.config();
  app::Fields fields;
  config->describe_keys(fields);
  return fields.paths();
}

// Windows in which something is wrong, so that every rule speaks in one of them.
std::vector<RunFacts> bad_windows() {
  std::vector<RunFacts> all{window({.gpu_busy = 0.6})};
  const auto add = [&](RunFacts facts) {
    for (const double cpu : {0.3, 0.95}) {
      for (const double pressure : {0.0, 0.5}) {
        facts.machine->process_share = cpu;
        facts.machine->machine_share = cpu;
        facts.machine->io_pressure = pressure;
        facts.machine->read_from_disk_per_s = pressure > 0 ? 60e6 : 0.0;
        all.push_back(facts);
      }
    }
  };
  for (const double busy : {0.1, 0.6}) {
    RunFacts launches = window({.gpu_busy = busy});
    launches.host_launch_wait_s = 0.5 * launches.budget.wall_s;
    launches.settings.torch_threads = 32;
    launches.gpu->busy_before = 0.95;
    launches.gpu->memory_peak = 10 * gib;
    launches.allocator->peak = 10 * gib;
    add(launches);
    launches.machine->others = {{.pid = 1, .name = "hog", .cores = 9.0}};
    launches.settings.torch_threads = 1;
    add(launches);
    for (const Plan& plan :
         {Plan{.read_s = 0.012, .gpu_busy = busy}, Plan{.decode_s = 0.0139, .gpu_busy = busy},
          Plan{.augment_s = 0.02, .gpu_busy = busy}, Plan{.transfer_s = 0.003, .gpu_busy = busy}}) {
      RunFacts facts = window(plan);
      facts.epoch_seconds = {60.0, 60.0};
      facts.bytes_from_storage = 1e12;
      add(facts);
      facts.settings.data_bytes = 400 * gib;
      facts.settings.decoded_bytes = 0;
      add(facts);
    }
    RunFacts held = with_stall(window({.gpu_busy = busy}), 0.4);
    held.reorder_wait_s = 0.5 * held.load.consumer_wait_s;
    held.batches = BatchFacts{.mean_s = 0.1, .sd_s = 0.05, .size_correlation = 0.9};
    add(held);
  }
  RunFacts rest = with_stall(window({.gpu_busy = 0.0}), 0.0);
  rest.gpu->our_context = false;
  rest.budget.copy_s = 30.0;
  rest.plan = PlanFacts{.forecast = 9 * gib, .limit = 8 * gib};
  rest.records = RecordFacts{.records = 3, .batch = 64};
  rest.learning = RunFacts::Learning{.accuracy = 0.3, .majority = 0.3};
  rest.seconds_wanted = 60.0;
  rest.rank_readiness = {0.01, 0.99, 0.99};
  rest.gpu->throttled = {"power cap"};
  rest.reads = ReadFacts{.bytes_read = 80e9, .bytes_used = 10e9};
  rest.files->needed = 5000;
  rest.process_growth = rest.tensor_growth =
      RunFacts::Growth{.slope = 1e9, .low = 1e8, .high = 2e9};
  rest.allocator->retries = 3;
  rest.allocator->inactive_split = 40 * gib;
  rest.allocator->peak = 79 * gib;
  add(rest);
  rest.allocator.reset();  // nothing was ever on the GPU
  add(rest);
  return all;
}

RunFacts of_kind(RunFacts facts, const Keys& keys) {
  const auto there = [&](const char* key) { return std::ranges::find(keys, key) != keys.end(); };
  facts.settings.keys = keys;
  facts.settings.can_cache = there("data.cache.memory");
  if (!there("image.decode")) facts.settings.decode_device.clear();
  if (there("training.batch")) return facts;
  facts.gpu_wanted = false;  // a pipeline alone
  facts.gpu.reset();
  facts.allocator.reset();
  facts.seconds_wanted = -1.0;
  return facts;
}

bool is_command(const std::string& setting) {
  for (const char* start : {"headrace pack volumes --chunk", "headrace pack table --layout",
                            "headrace pack images --longest-side", "headrace profile-memory",
                            "headrace inspect --sheet ", "headrace doctor", "ulimit -",
                            "nvidia-smi ", "renice ", "taskset ", "mount ", "cat ", "export "})
    if (setting.starts_with(start)) return true;
  return false;
}

// What no configuration can change: hardware, or code.
bool is_words(const std::string& setting) {
  return setting.ends_with(" time a sample") || setting.starts_with("limit of ");
}

void check_settings(const std::string& kind, const Keys& keys, std::set<int>& spoke) {
  CAPTURE(kind);
  for (const RunFacts& facts : bad_windows()) {
    for (const AdviceRule& rule : advice_rules()) {
      const auto advice = said(rule.number, of_kind(facts, keys));
      if (!advice || advice->setting.empty()) continue;
      spoke.insert(rule.number);
      const bool good = std::ranges::find(keys, advice->setting) != keys.end() ||
                        is_command(advice->setting) || is_words(advice->setting);
      CHECK_MESSAGE(good, advice->line());
      CHECK(advice->evidence.size() >= 3);
    }
  }
}

// What a person writes who does as he is told.
std::vector<std::string> settings_of(const Advice& advice) {
  std::vector<std::string> settings{advice.setting + '=' + advice.new_value};
  if (has(advice.action, "data.cache.folder")) settings.emplace_back("data.cache.folder=/tmp");
  return settings;
}

std::string advice_refusal(const app::Node& document, const Advice& advice) {
  try {
    app::Node changed = document;
    for (const std::string& setting : settings_of(advice))
      app::apply_override(changed, setting);
    const auto whole = app::read_whole_configuration(app::jobs(), changed);
    if (whole.loader) check(whole.loader->data.cache);
  } catch (const headrace::Error& error) {
    return error.what();
  }
  return "";
}

// Of every window, what each rule says of the configuration as it is.
std::vector<Advice> advice_on(const app::Node& document) {
  const auto whole = app::read_whole_configuration(app::jobs(), document);
  std::vector<Advice> all;
  for (RunFacts facts : bad_windows()) {
    const headrace::monitor::SettingFacts sizes = facts.settings;
    facts.settings = app::setting_facts(whole.full);
    facts.settings.data_bytes = sizes.data_bytes;
    facts.settings.decoded_bytes = sizes.decoded_bytes;
    for (const AdviceRule& rule : advice_rules())
      if (const auto advice = said(rule.number, of_kind(facts, facts.settings.keys)))
        all.push_back(*advice);
  }
  return all;
}

std::vector<app::Node> all_configurations() {
  std::vector<app::Node> all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(headrace::test::source_folder() + "/configs"))
    if (entry.path().extension() == ".yaml") all.push_back(app::read_document(entry.path()));
  return all;
}

}  // namespace

TEST_CASE("a value that is advised is one that the program takes") {
  std::size_t tried = 0;
  for (const app::Node& document : all_configurations()) {
    CAPTURE(*document.place.source);
    const Keys keys =
        app::setting_facts(app::read_whole_configuration(app::jobs(), document).full).keys;
    for (const Advice& advice : advice_on(document)) {
      const bool words = advice.setting == "augment";  // that says which operation is dear
      if (words || std::ranges::find(keys, advice.setting) == keys.end()) continue;
      ++tried;
      const std::string refused = advice_refusal(document, advice);
      CHECK_MESSAGE(refused.empty(), advice.line(), ": ", refused);
    }
  }
  CHECK(tried > 100);
}

TEST_CASE(
    "where the decoder draws its crop, what is advised can be read and run, and cached then") {
  const TemporaryFolder folder;
  write_png_pictures(folder.path() / "pictures", 4);
  const auto file = folder.path() / "loader.yaml";
  std::ofstream(file) << "kind: loader\ndata: {source: images, listings: \"\", folder: "
                      << (folder.path() / "pictures").string()
                      << "}\naugment: [{random_resized_crop: {}}]\nbatch: 2\n";
  CHECK_THROWS_WITH_AS(app::read_bench_job(app::jobs(), file, {"data.cache.memory=64MiB"}),
                       doctest::Contains("draws its crop at random"), headrace::ConfigError);
  bool resized = false;
  for (const Advice& advice : advice_on(app::read_document(file))) {
    CHECK_FALSE(advice.setting.starts_with("data.cache"));
    if (advice.setting != "image.resize") continue;
    resized = true;
    std::vector<std::string> settings = settings_of(advice);
    CHECK_NOTHROW(app::read_bench_job(app::jobs(), file, settings));
    settings.emplace_back("data.cache.memory=64MiB");
    CHECK_NOTHROW(app::read_bench_job(app::jobs(), file, settings));
  }
  CHECK(resized);
}

TEST_CASE("every setting that a rule names is a key of the kind at hand, or a command") {
  std::set<int> spoke;
  check_settings("loader", keys_of_loader(), spoke);
  for (const app::Job& job : app::jobs())
    check_settings(job.name, keys_of(job), spoke);
  for (const AdviceRule& rule : advice_rules())
    CHECK_MESSAGE((rule.number == 8 || spoke.contains(rule.number)), rule.number);
}

TEST_CASE("keys in words of an advice are keys, too") {
  for (const RunFacts& facts : bad_windows()) {
    for (const Advice& advice : advise(facts)) {
      for (const char* key : {"training.accumulation", "training.batch", "threads.loader"}) {
        if (!has(advice.line(), key)) continue;
        for (const app::Job& job : app::jobs()) {
          const Keys keys = keys_of(job);
          CHECK_MESSAGE(std::ranges::find(keys, key) != keys.end(), key);
        }
      }
    }
  }
}
