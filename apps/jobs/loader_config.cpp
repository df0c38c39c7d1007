#include <headrace/apps/jobs/loader_config.h>

namespace headrace::inline v1::app {
namespace {

void describe(Fields& fields, SourceConfig& source) {
  const auto only = [&source](SourceKind kind, std::string when, KeyOptions options) {
    options.used_if = [&source, kind] { return source.kind == kind; };
    options.used_when = "source.kind is " + when;
    return options;
  };
  fields.choice("kind", source.kind,
                {{"synthetic", SourceKind::synthetic},
                 {"hdf5", SourceKind::hdf5},
                 {"images", SourceKind::images}},
                {.doc = "rows made in memory, datasets of an HDF5 file, or a folder of pictures"});
  fields.key("rows", source.rows,
             only(SourceKind::synthetic, "synthetic", {.doc = "rows in memory", .min = 1.0}));
  fields.key("row_bytes", source.row_bytes,
             only(SourceKind::synthetic, "synthetic",
                  {.doc = "of a row, beside its label", .unit = "bytes", .min = 1.0, .max = 1e9}));
  fields.key("file", source.file, only(SourceKind::hdf5, "hdf5", {.doc = "HDF5 file"}));
  fields.key("datasets", source.datasets,
             only(SourceKind::hdf5, "hdf5", {.doc = "paths in the file: fields of a sample"}));
  fields.key("resident", source.resident,
             only(SourceKind::hdf5, "hdf5", {.doc = "most of the file that is kept in memory"}));
  fields.key("folder", source.folder,
             only(SourceKind::images, "images", {.doc = "pictures, a folder for each class"}));
}

void describe(Fields& fields, ImageConfig& image) {
  fields.key("side", image.side,
             {.doc = "of the random crop that is resized to a square",
              .unit = "pixels",
              .min = 8.0,
              .max = 4096.0});
  fields.key("flip", image.flip,
             {.doc = "probability of a horizontal flip", .min = 0.0, .max = 1.0});
  fields.key(
      "rotation", image.rotation,
      {.doc = "largest rotation either way; 0: none", .unit = "degrees", .min = 0.0, .max = 180.0});
}

}  // namespace

void describe(Fields& fields, LoaderConfig& config) {
  fields.key("seed", config.seed, {.doc = "of order and augmentation"});
  fields.key("memory", config.memory,
             {.doc = "what the process may hold; null: what the machine offers"});
  fields.section("source", [&](Fields& f) { describe(f, config.source); });
  fields.section("image", [&](Fields& f) { describe(f, config.image); },
                 {.used_if = [&config] { return config.source.kind == SourceKind::images; },
                  .used_when = "source.kind is images"});
  fields.key("shuffle", config.shuffle, {.doc = "a fresh order every epoch"});
  fields.key("batch", config.batch, {.doc = "samples", .min = 1.0, .max = 1e7});
  fields.key("drop_last", config.drop_last, {.doc = "leave out what does not fill a batch"});
  fields.key("prefetch", config.prefetch,
             {.doc = "batches made ready ahead of the consumer", .min = 1.0, .max = 64.0});
  fields.section("threads", [&](Fields& f) { describe(f, config.threads, false); });
  fields.section("delay", [&](Fields& f) { describe(f, config.delay); },
                 {.doc = "slowness to plant, to see whether the verdict finds it"});
}

}  // namespace headrace::inline v1::app
