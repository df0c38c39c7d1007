#include <headrace/apps/feed/loader_job.h>

#include <headrace/apps/feed/delay.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/rotate.h>
#include <headrace/loaders/image/crop_image.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/synthetic/synthetic.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <sys/resource.h>

namespace headrace::inline v1::app {
namespace {

PlannedSource synthetic_source(const SourceConfig& config, std::uint64_t seed) {
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

PlannedSource image_source(const SourceConfig& config) {
  const auto source = open_image_data(image_data_of(config));
  return {.outline = source, .resident_bytes = 0, .open = [source] { return source; }};
}

PlannedSource table_source(const SourceConfig& config) {
  if (config.file.empty() || config.datasets.empty()) {
    throw ConfigError("[config] source.file and source.datasets must name what to read");
  }
  Hdf5TableOptions options{
      .file = config.file, .memory = config.resident.value, .stage = config.stage};
  for (const std::string& dataset : config.datasets) {
    options.fields.push_back({.name = {}, .dataset = dataset});
  }
  return plan_table(options);
}

PlannedSource plan_source(const LoaderConfig& config) {
  switch (config.source.kind) {
    case SourceKind::synthetic:
      return synthetic_source(config.source, config.seed);
    case SourceKind::hdf5:
      return table_source(config.source);
    case SourceKind::images:
    case SourceKind::manifest:
    case SourceKind::pairs:
    case SourceKind::pack:
      return image_source(config.source);
  }
  throw ConfigError("[config] source.kind is none of the known ones");
}

void check_cache(const LoaderConfig& config) {
  check(config.cache, "cache");
  if (!config.cache.enabled() || config.image.resize > 0) return;
  throw ConfigError(
      "[config] cache: keeps what comes before the first random operation, but the first of all, "
      "\"decode\", draws its crop at random; set image.resize (256, say): whole pictures are then "
      "decoded to that size and kept, and \"crop\" draws from them");
}

std::vector<std::string> masks_of(const Source& source) {
  if (source.fields().find("mask") == nullptr) return {};
  return {"mask"};
}

DecodeImage decode_of(const ImageConfig& image, const std::vector<std::string>& masks) {
  const Device device{.kind = image.decode};
  const double share = image.device_share;
  if (image.resize > 0) {
    return {.crop = ResizeTo{.height = image.resize, .width = image.resize},
            .masks = masks,
            .device = device,
            .device_share = share};
  }
  return {.crop = RandomResizedCrop{.height = image.side, .width = image.side},
          .flip = static_cast<float>(image.flip),
          .masks = masks,
          .device = device,
          .device_share = share};
}

/// The source, behind a cache where there is one, and what makes a sample of a record.
Pipeline with_decoding(const std::shared_ptr<const Source>& source, const LoaderConfig& config) {
  const DecodeDelay delay{nanoseconds(config.delay.decode)};
  const auto delayed = [&](Pipeline pipeline) {
    return config.delay.decode.seconds > 0.0 ? std::move(pipeline).then(delay) : pipeline;
  };
  if (!is_images(config.source.kind)) return delayed(Pipeline::from(source));
  const DecodeImage decode = decode_of(config.image, masks_of(*source));
  if (!config.cache.enabled()) return delayed(Pipeline::from(source).then(decode));
  const auto cache = open_cache(config.cache, source, decode.schema(source->fields()));
  return Pipeline::from(cache->source()).then(cache->keep(decode, delay));
}

Pipeline with_picture_steps(Pipeline pipeline, const ImageConfig& image,
                            const std::vector<std::string>& masks) {
  if (image.resize > 0) {
    pipeline = std::move(pipeline).then(
        CropImage{.crop = RandomResizedCrop{.height = image.side, .width = image.side},
                  .flip = static_cast<float>(image.flip),
                  .masks = masks});
  }
  if (image.rotation > 0.0)
    pipeline = std::move(pipeline).then(Rotate{.degrees = image.rotation, .masks = masks});
  return pipeline;
}

Pipeline with_sample_steps(const std::shared_ptr<const Source>& source,
                           const LoaderConfig& config) {
  Pipeline pipeline = with_decoding(source, config);
  if (is_images(config.source.kind))
    pipeline = with_picture_steps(std::move(pipeline), config.image, masks_of(*source));
  if (config.delay.augment.seconds > 0.0) {
    pipeline = std::move(pipeline).then(AugmentDelay{nanoseconds(config.delay.augment)});
  }
  return pipeline;
}

Pipeline make_pipeline(const LoaderConfig& config, std::shared_ptr<const Source> source) {
  if (config.delay.read.seconds > 0.0) {
    source = with_read_delay(std::move(source), nanoseconds(config.delay.read));
  }
  Pipeline pipeline = with_sample_steps(source, config).named("bench").seed(config.seed);
  pipeline = config.shuffle ? std::move(pipeline).order(Shuffled{.seed = config.seed})
                            : std::move(pipeline).order(Sequential{});
  pipeline = std::move(pipeline).batch(
      {.size = config.batch, .tail = config.drop_last ? Tail::drop : Tail::shorter});
  // What decodes on a device decodes into its memory.
  if (is_images(config.source.kind))
    pipeline = std::move(pipeline).to({.kind = config.image.decode});
  if (config.delay.transfer.seconds > 0.0) {
    pipeline = std::move(pipeline).then(TransferDelay{nanoseconds(config.delay.transfer)});
  }
  return pipeline;
}

std::uint64_t data_segment() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "VmData:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
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

ImageData image_data_of(const SourceConfig& config) {
  const bool in_folder = config.kind == SourceKind::images || config.kind == SourceKind::pairs;
  const auto& data = in_folder ? config.folder : config.file;
  if (data.empty()) {
    throw ConfigError(in_folder
                          ? "[config] source.folder must name a folder of pictures, got nothing"
                          : "[config] source.file must name a manifest or a pack, got nothing");
  }
  if (config.kind == SourceKind::pairs && config.masks.empty())
    throw ConfigError("[config] source.masks must name a folder of masks, got nothing");
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
  check_cache(config);
  return make_loader_job(config, plan_source(config));
}

LoaderJob make_loader_job(const LoaderConfig& config, PlannedSource planned) {
  return {
      .source = std::move(planned),
      .pipeline =
          [config](std::shared_ptr<const Source> source) {
            return make_pipeline(config, std::move(source));
          },
      .options = {.prefetch = config.prefetch, .watchdog = abort_on_hang(config.threads.watchdog)},
      .runtime = {.threads = config.threads.loader, .io_threads = config.threads.io},
      .consumer_delay_s = config.delay.consumer.seconds,
      .cached = config.cache.enabled()};
}

void add_process(monitor::MemoryForecast& forecast, int new_threads) {
  const auto threads = static_cast<std::uint64_t>(new_threads);
  if (data_is_limited()) {
    forecast.add("process as it is", data_segment(), "address space");
    forecast.add("stacks", threads * stack_bytes(), std::to_string(new_threads) + " threads");
    return;
  }
  constexpr std::uint64_t touched = 512ULL << 10;  // of a stack, and the thread's own heap
  forecast.add("process as it is", monitor::read_process_memory().held());
  forecast.add("stacks", threads * touched, std::to_string(new_threads) + " threads");
  forecast.add("small things", 8ULL << 20, "queues, statistics, lists");
}

}  // namespace headrace::inline v1::app
