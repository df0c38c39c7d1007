#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/synthetic/synthetic.h>

#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

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
          .follow_links = config.follow_links};
}

LoaderJob make_loader_job(const LoaderConfig& config) {
  check(config.data.cache);
  return make_loader_job(config, plan_source(config));
}

LoaderJob make_loader_job(const LoaderConfig& config, PlannedSource planned) {
  check_loader_cache(config, planned.outline);
  const std::int64_t classes = class_count(*planned.outline);
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

}  // namespace headrace::inline v1::app
