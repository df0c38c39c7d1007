#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/image/pack/detail/pack_file_writer.h>
#include <headrace/loaders/image/pack/detail/pack_record.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/loaders/internal/in_order.h>

#include <bit>
#include <map>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

void check(const ListedImages& source, const PackOptions& options) {
  const auto refuse = [](const std::string& rule) { throw ConfigError("[pack] " + rule); };
  if (options.file.empty()) refuse("a file to write must be named, got nothing");
  const std::size_t step = options.alignment;
  if (step < 8 || step > (std::size_t{1} << 20) || (step & (step - 1)) != 0)
    refuse("alignment must be a power of two from 8 to 2^20, got " + std::to_string(step));
  if (options.longest_side != 0 && (options.longest_side < 8 || options.longest_side > 65535))
    refuse("longest_side must be 8 to 65535, got " + std::to_string(options.longest_side));
  if (options.quality < 1 || options.quality > 100)
    refuse("quality must be 1 to 100, got " + std::to_string(options.quality));
  if (options.index.segment_pixels < 8 || options.index.segment_pixels > 65535)
    refuse("segment_pixels must be 8 to 65535, got " +
           std::to_string(options.index.segment_pixels));
  if (options.threads < 1 || options.threads > 1024)
    refuse("threads must be 1 to 1024, got " + std::to_string(options.threads));
  if (options.longest_side != 0 && source.has_masks())
    refuse(
        "images with masks cannot be shrunk: their masks would not fit them any more; leave "
        "longest_side out");
}

std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  return (hash ^ hash_name(text)) * 0x9e3779b97f4a7c15ULL + 1;
}

std::uint64_t mark_of(const ListedImages& source, int threads) {
  const auto records = static_cast<std::size_t>(source.size());
  const auto path = [](const RecordFile& file) {
    return std::filesystem::path(file.root) / file.path;
  };
  const auto file = [&](std::size_t i) {
    return path(i < records ? source.file(static_cast<std::int64_t>(i))
                            : source.mask_file(static_cast<std::int64_t>(i - records)));
  };
  return mixed(detail::mark_of_files(source.has_masks() ? 2 * records : records, file, threads),
               path(source.file(0)).native() + path(source.mask_file(0)).native());
}

/// What a file begun before must have been made from, and how.
std::uint64_t fingerprint_of(const ListedImages& source, const PackOptions& options) {
  std::uint64_t hash =
      mixed(0, std::to_string(options.crop_index ? options.index.segment_pixels : 0) + "," +
                   std::to_string(options.longest_side) + "," + std::to_string(options.quality) +
                   "," + (options.skip_bad ? "skip" : "fail") + "," +
                   std::to_string(mark_of(source, options.threads)));
  const std::vector<double> weights = source.weights();
  const std::vector<std::int64_t> groups = source.groups();
  const std::vector<DataSplit> splits = source.splits();
  const auto mix = [&hash](auto number) { hash = mixed(hash, std::to_string(number)); };
  for (std::int64_t i = 0; i < source.size(); ++i) {
    hash = mixed(hash, source.path(i));
    mix(source.image_bytes(i));
    mix(source.mask_bytes(i));
    mix(source.label(i));
    if (source.multi_label()) {
      for (const std::int64_t label : source.label_set(i))
        mix(label);
      mix(-1);
    }
    if (!splits.empty()) mix(static_cast<int>(splits[static_cast<std::size_t>(i)]));
    if (!weights.empty()) mix(std::bit_cast<std::uint64_t>(weights[static_cast<std::size_t>(i)]));
    if (!groups.empty()) mix(groups[static_cast<std::size_t>(i)]);
  }
  return hash;
}

struct Plan {
  detail::PackHeader header;
  detail::PackNames names;
  std::vector<std::uint64_t> name_end;
  std::vector<double> weights;
  std::vector<std::int64_t> groups;
  std::vector<DataSplit> splits;
  std::vector<std::int64_t> label_sets;  ///< number of each record's set
};

/// Names each different set of labels once, and says which one every record has.
void plan_label_sets(const ListedImages& source, Plan& plan) {
  std::map<std::string, std::int64_t> numbers;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    std::string set;
    for (const std::int64_t label : source.label_set(i)) {
      const auto number = static_cast<std::int32_t>(label);
      set.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    const auto [at, fresh] =
        numbers.try_emplace(set, static_cast<std::int64_t>(plan.names.label_sets.size()));
    if (fresh) plan.names.label_sets.push_back(set);
    plan.label_sets.push_back(at->second);
  }
}

Plan plan_of(const ListedImages& source, const PackOptions& options) {
  Plan plan;
  plan.weights = source.weights();
  plan.groups = source.groups();
  plan.splits = source.splits();
  if (source.multi_label()) plan_label_sets(source, plan);
  plan.names.classes = source.classes();
  plan.names.groups = source.group_names();
  for (std::int64_t i = 0; i < source.size(); ++i) {
    plan.names.paths += source.path(i);
    plan.name_end.push_back(plan.names.paths.size());
  }
  plan.header.records = static_cast<std::uint64_t>(source.size());
  plan.header.fingerprint = fingerprint_of(source, options);
  plan.header.alignment = static_cast<std::uint32_t>(options.alignment);
  plan.header.classes = static_cast<std::uint32_t>(plan.names.classes.size());
  plan.header.label_sets = static_cast<std::uint32_t>(plan.names.label_sets.size());
  plan.header.groups = static_cast<std::uint32_t>(plan.names.groups.size());
  plan.header.has_labels = !source.classes().empty();
  plan.header.has_weights = !plan.weights.empty();
  plan.header.has_groups = !plan.groups.empty();
  plan.header.has_masks = source.has_masks();
  plan.header.has_splits = !plan.splits.empty();
  return plan;
}

void count(PackProgress& progress, const detail::PackEntry& entry) {
  ++progress.records;
  if (entry.state == detail::PackState::skipped) {
    ++progress.skipped;
  } else if (entry.content == detail::PackContent::crop_indexed) {
    ++progress.crop_indexed;
  }
}

}  // namespace

PackProgress pack_images(const ListedImages& source, const PackOptions& options) {
  check(source, options);
  const Plan plan = plan_of(source, options);
  detail::PackFileWriter writer(options.file.native(), plan.header, plan.names);
  PackProgress progress{.all_records = source.size()};
  for (const detail::PackEntry& entry : writer.resumed())
    count(progress, entry);
  progress.resumed = progress.records;

  detail::InOrder<detail::PackRecord> records(
      {progress.records, source.size(), options.threads, "pack"},
      [&](std::int64_t index) { return detail::make_pack_record(source, index, options); });
  while (progress.records < source.size()) {
    if (options.stop.stop_requested()) {
      writer.commit();
      return progress;
    }
    const std::int64_t index = progress.records;
    const auto i = static_cast<std::size_t>(index);
    detail::PackRecord record = records.take();
    if (!record.bad.empty()) {
      if (options.on_bad) options.on_bad(index, record.bad);
      if (!options.skip_bad) {
        writer.commit();
        throw DataError("[pack] " + source.origin(index) + ": " + record.bad +
                        "; repair it, or leave bad images out");
      }
    }
    record.entry.name_end = plan.name_end[i];
    if (!plan.weights.empty()) record.entry.weight = plan.weights[i];
    if (!plan.groups.empty()) record.entry.group = plan.groups[i];
    if (!plan.label_sets.empty()) record.entry.label = plan.label_sets[i];
    if (!plan.splits.empty())
      record.entry.split = static_cast<std::uint8_t>(1 + static_cast<int>(plan.splits[i]));
    progress.input_bytes += record.input_bytes;
    count(progress, record.entry);
    writer.append(std::move(record));
    progress.bytes = writer.bytes();
    if (options.on_progress) options.on_progress(progress);
  }
  if (progress.skipped == progress.records)
    throw DataError("[pack] every image is bad; nothing is left to pack");
  writer.finish();
  progress.bytes = writer.bytes();
  return progress;
}

}  // namespace headrace::inline v1
