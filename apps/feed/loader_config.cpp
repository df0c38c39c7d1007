#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/loader_config.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// Keys that only some kinds of source have.
class KindKeys {
 public:
  explicit KindKeys(const LoaderData& data) : data_(data) {}

  KeyOptions only(std::vector<SourceKind> kinds, const std::string& when,
                  KeyOptions options = {}) const {
    options.used_if = [&data = data_, kinds = std::move(kinds)] {
      return std::find(kinds.begin(), kinds.end(), data.source) != kinds.end();
    };
    options.used_when = "data.source is " + when;
    return options;
  }

 private:
  const LoaderData& data_;
};

void describe_images(Fields& fields, LoaderData& data) {
  using enum SourceKind;
  const KindKeys keys(data);
  fields.key("folder", data.folder,
             keys.only({images, pairs}, "images or pairs",
                       {.doc = "pictures, a folder for each class; of pairs, in any layout"}));
  fields.key("masks", data.masks,
             keys.only({pairs}, "pairs", {.doc = "masks, laid out as the pictures are"}));
  fields.key("mask_suffix", data.mask_suffix,
             keys.only({pairs}, "pairs", {.doc = "of a mask's name, before its extension"}));
  fields.key(
      "root", data.root,
      keys.only({manifest}, "manifest", {.doc = "folder of the manifest's paths; empty: its own"}));
  fields.key("listings", data.listings,
             keys.only({images, manifest, pairs}, "images, manifest or pairs",
                       {.doc = "folder that keeps listings between runs; empty: none is kept"}));
  fields.key(
      "follow_links", data.follow_links,
      keys.only({images, manifest, pairs}, "images, manifest or pairs", {.doc = follow_links_doc}));
}

void describe(Fields& fields, LoaderData& data) {
  using enum SourceKind;
  const KindKeys keys(data);
  fields.choice("source", data.source,
                {{"synthetic", synthetic},
                 {"hdf5", hdf5},
                 {"images", images},
                 {"manifest", manifest},
                 {"pairs", pairs},
                 {"pack", pack}},
                {.doc = "rows made in memory, datasets of an HDF5 file, a folder of pictures, a "
                        "list of them, pictures with masks, or a pack"});
  fields.key("rows", data.rows,
             keys.only({synthetic}, "synthetic", {.doc = "rows in memory", .min = 1.0}));
  fields.key(
      "row_bytes", data.row_bytes,
      keys.only({synthetic}, "synthetic",
                {.doc = "of a row, beside its label", .unit = "bytes", .min = 1.0, .max = 1e9}));
  fields.key("file", data.file,
             keys.only({hdf5, manifest, pack}, "hdf5, manifest or pack",
                       {.doc = "HDF5 file, manifest (.csv, .tsv, .jsonl) or pack"}));
  fields.key("datasets", data.datasets,
             keys.only({hdf5}, "hdf5", {.doc = "paths in the file: fields of a sample"}));
  describe_resident(fields, data.resident, keys.only({hdf5}, "hdf5"));
  describe_stage(fields, data.stage,
                 keys.only({hdf5, pack},
                           "hdf5 or pack (pictures in a folder are many files: pack them first)"));
  describe_images(fields, data);
  const auto of_images = [&keys] {
    return keys.only({images, manifest, pairs, pack}, "images, manifest, pairs or pack");
  };
  describe_cache(fields, data.cache, of_images());
  describe_check(fields, data.decode.check, false, of_images());
  describe_sample_limit(fields, data.decode.sample_limit, of_images());
  describe_prefetch(fields, data.prefetch);
}

void describe(Fields& fields, ImageConfig& image) {
  fields.key("side", image.side,
             {.doc = "of the square that pictures become, and that crops of augment make",
              .unit = "pixels",
              .min = 8.0,
              .max = 4096.0});
  fields.key("resize", image.resize,
             {.doc = "of the square that whole pictures are decoded to for the list augment; 0: "
                     "side, or the crop that leads the list, made while a picture is decoded",
              .unit = "pixels",
              .min = 0.0,
              .max = 4096.0});
  fields.choice("decode", image.decode, {{"cpu", Device::Kind::cpu}, {"cuda", Device::Kind::cuda}},
                {.doc = "where JPEG files are decoded; cuda: on the first GPU, by nvJPEG"});
  fields.key("device_share", image.device_share,
             {.doc = "share of the records whose JPEG files the GPU decodes, drawn by their index",
              .min = 0.0,
              .max = 1.0});
}

}  // namespace

bool is_images(SourceKind kind) {
  return kind != SourceKind::synthetic && kind != SourceKind::hdf5;
}

void describe(Fields& fields, LoaderConfig& config) {
  fields.key("seed", config.seed, {.doc = "of order and augmentation"});
  fields.key("memory", config.memory,
             {.doc = "what the process may hold; null: what the machine offers"});
  fields.section("data", [&](Fields& f) { describe(f, config.data); });
  fields.section("image", [&](Fields& f) { describe(f, config.image); },
                 {.used_if = [&config] { return is_images(config.data.source); },
                  .used_when = "data.source is images, manifest, pairs or pack"});
  describe_augment(fields, config.augment);
  fields.key("shuffle", config.shuffle, {.doc = "a fresh order every epoch"});
  fields.key("batch", config.batch, {.doc = "samples", .min = 1.0, .max = 1e7});
  fields.key("drop_last", config.drop_last, {.doc = "leave out what does not fill a batch"});
  fields.section("threads", [&](Fields& f) { describe(f, config.threads, false); });
  fields.section("delay", [&](Fields& f) { describe(f, config.delay); },
                 {.doc = "slowness to plant, to see whether the verdict finds it"});
}

}  // namespace headrace::inline v1::app
