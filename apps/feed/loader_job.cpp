#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/monitor/process_memory.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <sys/resource.h>

namespace headrace::inline v1::app {
namespace {

PlannedSource synthetic_source(const LoaderData& config, std::uint64_t seed) {
  const SyntheticOptions options{
      .rows = config.rows,
      .fields = {FieldSpec::fixed("row", DType::uint8, {config.row_bytes}),
                 FieldSpec::fixed("label", DType::int64, {})},
      .seed = seed};
  const auto outline = std::make_shared<const SyntheticSource>(options);
  const auto row = static_cast<std::size_t>(config.row_bytes) + sizeof(std::int64_t);
  return {.outline = outline,
          .resident_bytes = row * static_cast<std::size_t>(config.rows),
          .open = [outline] { return std::make_shared<const Table>(outline->table()); }};
}

PlannedSource image_source(const LoaderData& config) {
  const ImageData data = image_data_of(config);
  const auto source = open_image_data(data);
  if (config.stage.empty() || config.source != SourceKind::pack)
    return {.outline = source, .resident_bytes = 0, .open = [source] { return source; }};
  return {.outline = source, .resident_bytes = 0, .open = [data, stage = config.stage] {
            return std::make_shared<const ImagePack>(
                data.data,
                ImagePackOptions{.stage = stage, .log = &log_table, .on_stage = show_stage()});
          }};
}

PlannedSource table_source(const LoaderData& config) {
  if (config.file.empty() || config.datasets.empty()) {
    throw ConfigError("[config] data.file and data.datasets must name what to read");
  }
  Hdf5TableOptions options{
      .file = config.file, .memory = config.resident.value, .stage = config.stage};
  for (const std::string& dataset : config.datasets) {
    options.fields.push_back({.name = {}, .dataset = dataset});
  }
  return plan_table(options);
}

PlannedSource plan_source(const LoaderConfig& config) {
  switch (config.data.source) {
    case SourceKind::synthetic:
      return synthetic_source(config.data, config.seed);
    case SourceKind::hdf5:
      return table_source(config.data);
    case SourceKind::images:
    case SourceKind::manifest:
    case SourceKind::pairs:
    case SourceKind::pack:
      return image_source(config.data);
  }
  throw ConfigError("[config] data.source is none of the known ones");
}

bool data_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

std::uint64_t stack_bytes() {
  rlimit limit{};
  constexpr std::uint64_t usual = 8ULL << 20;
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return limit.rlim_cur;
}

}  // namespace

LoaderOptions loader_options(int prefetch, const ThreadSettings& threads) {
  return {.prefetch = prefetch, .watchdog = abort_on_hang(threads.watchdog)};
}

RuntimeOptions runtime_options(const ThreadSettings& threads) {
  return {.threads = threads.loader, .io_threads = threads.io};
}

Loader LoaderJob::build() const {
  LoaderOptions with_runtime = options;
  with_runtime.runtime = Runtime(runtime);
  return pipeline(source.open()).build(with_runtime);
}

monitor::MemoryForecast LoaderJob::forecast() const {
  LoaderOptions with_runtime = options;
  with_runtime.runtime = Runtime(runtime);
  monitor::MemoryForecast forecast;
  for (const MemoryForecast::Item& item :
       pipeline(source.outline).build(with_runtime).forecast().items) {
    const bool with_cache = cached && item.name == "source";
    if (item.bytes > 0) forecast.add(item.name, item.bytes, with_cache ? "and its cache" : "");
  }
  if (source.resident_bytes > 0) forecast.add("data in memory", source.resident_bytes);
  return forecast;
}

ImageData image_data_of(const LoaderData& config) {
  const bool in_folder = config.source == SourceKind::images || config.source == SourceKind::pairs;
  const auto& data = in_folder ? config.folder : config.file;
  if (data.empty()) {
    throw ConfigError(in_folder ? "[config] data.folder must name a folder of pictures, got nothing"
                                : "[config] data.file must name a manifest or a pack, got nothing");
  }
  if (config.source == SourceKind::pairs && config.masks.empty())
    throw ConfigError("[config] data.masks must name a folder of masks, got nothing");
  return {.data = data,
          .masks = config.masks,
          .mask_suffix = config.mask_suffix,
          .root = config.root,
          .listings = config.listings,
          .log = [](LogLevel level, std::string_view line) {
            if (level != LogLevel::debug) fmt::print(stderr, "{}\n", clean_text(line));
          }};
}

LoaderJob make_loader_job(const LoaderConfig& config) {
  check(config.data.cache);
  return make_loader_job(config, plan_source(config));
}

LoaderJob make_loader_job(const LoaderConfig& config, PlannedSource planned) {
  check_loader_cache(config, planned.outline);
  const auto images = std::dynamic_pointer_cast<const ImageSource>(planned.outline);
  const auto classes = images ? static_cast<std::int64_t>(images->classes().size()) : 0;
  return {.source = std::move(planned),
          .pipeline =
              [config, classes](std::shared_ptr<const Source> source) {
                return make_loader_pipeline(config, std::move(source), classes);
              },
          .options = loader_options(config.data.prefetch, config.threads),
          .runtime = runtime_options(config.threads),
          .consumer_delay_s = config.delay.consumer.seconds,
          .cached = config.data.cache.enabled()};
}

void add_process(monitor::MemoryForecast& forecast, int new_threads) {
  const auto threads = static_cast<std::uint64_t>(new_threads);
  const monitor::ProcessMemory memory = monitor::read_process_memory();
  if (data_is_limited()) {
    forecast.add("process as it is", memory.data_segment, "address space");
    forecast.add("stacks", threads * stack_bytes(), std::to_string(new_threads) + " threads");
    return;
  }
  constexpr std::uint64_t touched = 512ULL << 10;  // of a stack, and the thread's own heap
  forecast.add("process as it is", memory.held());
  forecast.add("stacks", threads * touched, std::to_string(new_threads) + " threads");
  forecast.add("small things", 8ULL << 20, "queues, statistics, lists");
}

}  // namespace headrace::inline v1::app
