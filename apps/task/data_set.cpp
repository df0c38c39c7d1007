#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// Keys that only some kinds of source have.
class SourceKeys {
 public:
  SourceKeys(const DataSet& set, std::string section)
      : set_(set), decider_("data." + std::move(section) + ".source") {}

  KeyOptions only(std::vector<RecordsIn> kinds, const std::string& words, std::string doc) const {
    return {.doc = std::move(doc),
            .used_if =
                [&set = set_, kinds = std::move(kinds)] {
                  return std::find(kinds.begin(), kinds.end(), set.source) != kinds.end();
                },
            .used_when = decider_ + " is " + words};
  }

 private:
  const DataSet& set_;
  std::string decider_;
};

void describe(Fields& fields, ManifestColumns& columns, bool masks) {
  fields.key("path", columns.path, {.doc = "of the picture; default image, else path"});
  if (masks) {
    fields.key("mask", columns.mask, {.doc = "of its mask; default mask"});
  } else {
    fields.key("label", columns.label, {.doc = "name or number of the class; default label"});
    fields.key("labels", columns.labels,
               {.doc = "instead of label, where a picture may have several classes: a column of 0 "
                       "and 1 for each"});
    fields.key("label_separator", columns.label_separator,
               {.doc = "or what stands between the classes of a cell: \";\""});
  }
  fields.key("group", columns.group,
             {.doc = "name or number of what must not be divided (a patient, say); default group"});
  fields.key("split", columns.split,
             {.doc = "train, validation or test of every picture; default split"});
}

void describe_arrays(Fields& fields, DataSet& set, const SourceKeys& keys) {
  using enum RecordsIn;
  fields.key("data", set.data, keys.only({hdf5}, "hdf5", "dataset of the features"));
  fields.key("labels", set.labels,
             keys.only({npy, hdf5}, "npy or hdf5",
                       "dataset, of npy the file, of their labels: whole numbers, of hdf5 also "
                       "names, [records], or flags, 0 or 1, [records, classes]"));
  fields.key("groups", set.groups,
             keys.only({npy, hdf5}, "npy or hdf5",
                       "dataset, of npy the file, of whole numbers, of hdf5 also names, [records]: "
                       "who has the same there is never on two sides of a split; empty: none"));
  fields.key("classes", set.classes,
             keys.only({npy, hdf5}, "npy or hdf5",
                       "names by label; []: the attribute class_names, else class0, class1, ..."));
  fields.key("multi_label", set.multi_label,
             keys.only({npy, hdf5}, "npy or hdf5",
                       "flags of a record may be any number of ones; false: exactly one"));
}

void describe(Fields& fields, DataSet& set, const std::string& section, bool masks) {
  using enum RecordsIn;
  const SourceKeys keys(set, section);
  if (masks) {
    fields.choice(
        "source", set.source,
        {{"pairs", pairs}, {"manifest", manifest}, {"pack", pack}, {"volumes", volumes}},
        {.doc = "pictures with masks, a list of them, or a pack; volumes in nnU-Net's raw "
                "layout (docs/volumes.md)"});
    fields.key("folder", set.folder,
               keys.only({pairs, volumes}, "pairs or volumes",
                         "pictures, in any layout; of volumes imagesTr, labelsTr, dataset.json"));
    fields.key("masks", set.masks,
               keys.only({pairs}, "pairs", "masks, laid out as the pictures are"));
    fields.key("mask_suffix", set.mask_suffix,
               keys.only({pairs}, "pairs", "of a mask's name, before its extension"));
    fields.key("spare_masks", set.spare_masks,
               keys.only({pairs}, "pairs",
                         "masks without a picture are passed over, where one folder holds the "
                         "masks of several parts; false: refused"));
    fields.key("spare_pictures", set.spare_pictures,
               keys.only({pairs}, "pairs",
                         "pictures without a mask are passed over, where a data set leaves out the "
                         "masks of those that show nothing; false: refused"));
  } else {
    fields.choice(
        "source", set.source,
        {{"images", images}, {"manifest", manifest}, {"pack", pack}, {"npy", npy}, {"hdf5", hdf5}},
        {.doc = "a folder of pictures, a list of them, or a pack; arrays in .npy files, or "
                "in datasets of an HDF5 file (docs/array-data.md)"});
    fields.key("folder", set.folder,
               keys.only({images, npy}, "images or npy", "a folder for each class"));
  }
  std::vector<RecordsIn> files{manifest, pack};
  std::vector<RecordsIn> lists{manifest};
  if (!masks) {
    files.insert(files.end(), {npy, hdf5});
    lists.push_back(npy);
  }
  const std::string list_words = masks ? "manifest" : "manifest or npy";
  fields.key(
      "file", set.file,
      keys.only(files, masks ? "manifest or pack" : "manifest, pack, npy or hdf5",
                masks ? "manifest (.csv, .tsv, .jsonl: docs/image-data.md) or pack"
                      : "manifest (.csv, .tsv, .jsonl: docs/image-data.md) or pack; of npy a "
                        "list of .npy files, or one with all features; HDF5 file"));
  fields.key("root", set.root,
             keys.only(lists, list_words, "folder of the manifest's paths; empty: its own"));
  fields.section(
      "columns", [&](Fields& f) { describe(f, set.columns, masks); },
      keys.only(lists, list_words,
                "names of the manifest's columns; empty: the default, if it is there"));
  if (!masks) describe_arrays(fields, set, keys);
}

std::string where(const DataSet& set) {
  return (set.folder.empty() ? set.file : set.folder).string();
}

// Keys of records without the place where they lie.
void check_given(const DataSet& set, const char* section) {
  if (set.is_given() ||
      (set.data.empty() && set.labels.empty() && set.groups.empty() && set.masks.empty() &&
       set.mask_suffix.empty() && !set.spare_masks && !set.spare_pictures && set.root.empty()))
    return;
  throw ConfigError(fmt::format(
      "[config] {0} must name its records ({0}.file or {0}.folder), got other keys alone",
      section));
}

// All volumes, or none.
void check_volumes(const TaskData& data) {
  for (const auto& [name, set] :
       {std::pair("validation", &data.validation), std::pair("test", &data.test)}) {
    if (set->is_given() && holds_volumes(data) && set->source != RecordsIn::volumes)
      throw ConfigError(
          fmt::format("[config] data.{}.source must be volumes, as data.train has, got {}; name "
                      "volumes, or leave "
                      "the records out (data.{}={{}})",
                      name, where(*set), name));
    if (set->source == RecordsIn::volumes && !holds_volumes(data))
      throw ConfigError(fmt::format(
          "[config] data.{}.source must be that of pictures as data.train has, got volumes", name));
  }
}

// All pictures, or all arrays.
void check_kinds(const TaskData& data) {
  const auto same = [&](const DataSet& set, const char* name) {
    if (!set.is_given() || holds_arrays(set.source) == holds_arrays(data)) return;
    throw ConfigError(
        fmt::format("[config] data.{}.source must be {}, as data.train has {}, got {}; give both "
                    "the same kind, or "
                    "leave one out (data.{}={{}})",
                    name, holds_arrays(data) ? "npy or hdf5" : "images, manifest or pack",
                    holds_arrays(data) ? "arrays" : "pictures",
                    holds_arrays(set.source) ? "arrays" : "pictures", name));
  };
  same(data.validation, "validation");
  same(data.test, "test");
}

}  // namespace

bool holds_arrays(RecordsIn source) {
  return source == RecordsIn::npy || source == RecordsIn::hdf5;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

bool is_list(const std::filesystem::path& file) {
  const std::string extension = lower_case(file.extension().native());
  return extension == ".csv" || extension == ".tsv" || extension == ".jsonl";
}

void describe(Fields& fields, TaskData& data, bool masks) {
  if (masks)
    for (DataSet* set : {&data.train, &data.validation, &data.test})
      if (set->source == RecordsIn::images) set->source = RecordsIn::pairs;
  const auto section = [&](const char* name, DataSet& set, KeyOptions options) {
    fields.section(
        name, [&](Fields& f) { describe(f, set, name, masks); }, std::move(options));
  };
  section("train", data.train, {.doc = "records to train on"});
  section(
      "validation", data.validation,
      {.doc = "records that select weights; without folder and file a share of those in train"});
  section("test", data.test, {.doc = "records to report on, likewise"});
  fields.section("split", [&](Fields& f) { describe(f, data.split); },
                 {.doc = "how the records of train are divided"});
  describe(fields, data.duplicates);
  fields.key("epoch_size", data.epoch_size,
             {.doc = std::string("samples of an epoch, for which records are cut or drawn on; 0: "
                                 "every record to train on once") +
                     (masks ? ", of volumes volume.patches of each" : ""),
              .min = 0.0});
  fields.key("listings", data.listings,
             {.doc = "folder that keeps listings between runs; empty: none is kept"});
  const auto only = [&data](bool (*fits)(RecordsIn), const char* kinds, const char* doc = "") {
    return KeyOptions{.doc = doc,
                      .used_if = [&data, fits] { return fits(data.train.source); },
                      .used_when = std::string("data.train.source is ") + kinds};
  };
  fields.key("follow_links", data.follow_links,
             masks ? KeyOptions{.doc = follow_links_doc}
                   : only([](RecordsIn source) { return source != RecordsIn::hdf5; },
                          "images, manifest, pack or npy", follow_links_doc));
  if (masks) {
    const auto of_pictures = [&only] {
      return only([](RecordsIn source) { return source != RecordsIn::volumes; },
                  "pairs, manifest or pack");
    };
    describe_cache(fields, data.cache, of_pictures());
    describe_sample_limit(fields, data.decode.sample_limit, of_pictures());
  } else {
    const auto of_pictures = [&only] {
      return only([](RecordsIn source) { return !holds_arrays(source); },
                  "images, manifest or pack");
    };
    describe_cache(fields, data.cache, of_pictures());
    describe_sample_limit(fields, data.decode.sample_limit, of_pictures());
    describe_resident(fields, data.resident,
                      only([](RecordsIn source) { return holds_arrays(source); }, "npy or hdf5"));
    describe_stage(fields, data.stage,
                   only([](RecordsIn source) { return source == RecordsIn::hdf5; }, "hdf5"));
  }
  describe_check(fields, data.decode.check, true,
                 only([](RecordsIn source) { return source != RecordsIn::volumes; },
                      "a kind of pictures or arrays"));
  describe_prefetch(fields, data.prefetch);
}

void check(const TaskData& data) {
  check_given(data.validation, "data.validation");
  check_given(data.test, "data.test");
  check(data.split);
  check(data.cache);
  const auto refuse_both = [](const DataSet& set, const char* name,
                              const std::optional<double>& share) {
    if (set.is_given() && share.value_or(0.0) > 0.0)
      throw ConfigError(fmt::format(
          "[config] data.split.{0} must be 0 where data.{0} names records of its own ({1}), got "
          "{2}; set one of them, or leave the records out (data.{0}={{}})",
          name, where(set), *share));
  };
  if (data.split.folds > 0 && data.validation.is_given())
    throw ConfigError(fmt::format(
        "[config] data.split.folds must be 0 where data.validation names records of its own ({}), "
        "got {}; set one of them, or leave the records out (data.validation={{}})",
        where(data.validation), data.split.folds));
  if (data.split.nested && data.test.is_given())
    throw ConfigError(fmt::format(
        "[config] data.split.nested tests each fold's network on the fold, but data.test names "
        "records of its own ({}); set one of them, or leave the records out (data.test={{}})",
        where(data.test)));
  check_volumes(data);
  check_groups(data);
  check_kinds(data);
  if (data.split.folds == 0) refuse_both(data.validation, "validation", data.split.validation);
  refuse_both(data.test, "test", data.split.test);
}

ImageData image_data_of(const DataSet& set, const TaskData& data, const std::string& section) {
  const bool in_folder = set.source == RecordsIn::images || set.source == RecordsIn::pairs;
  const auto& path = in_folder ? set.folder : set.file;
  if (path.empty())
    throw ConfigError(fmt::format("[config] {}.{} must name {}, got nothing", section,
                                  in_folder ? "folder" : "file",
                                  in_folder ? "a folder of pictures" : "a manifest or a pack"));
  if (set.source == RecordsIn::pairs && set.masks.empty())
    throw ConfigError(
        fmt::format("[config] {}.masks must name a folder of masks, got nothing", section));
  return {.data = path,
          .masks = set.masks,
          .mask_suffix = set.mask_suffix,
          .spare_masks = set.spare_masks,
          .spare_images = set.spare_pictures,
          .root = set.root,
          .columns = columns_of(set, data.split),
          .listings = data.listings,
          .follow_links = data.follow_links};
}

}  // namespace headrace::inline v1::app
