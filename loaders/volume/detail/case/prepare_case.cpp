#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/case/case_slices.h>
#include <headrace/loaders/volume/detail/case/case_volume.h>
#include <headrace/loaders/volume/detail/case/prepare_case.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t any_bytes = std::numeric_limits<std::size_t>::max();
constexpr std::size_t writer_chunks = 10;  // that the chunk store's writer holds, a thread

bool fits_bytes(const std::vector<std::int64_t>& values) {
  return std::ranges::all_of(values, [](std::int64_t v) { return v >= 0 && v <= 255; });
}

LabelValues label_values(std::vector<std::int64_t> values) {
  LabelValues labels{.way_out =
                         "correct the label, or name the value in dataset.json's \"labels\""};
  if (values.empty()) {
    labels.values.resize(256);
    std::iota(labels.values.begin(), labels.values.end(), 0);
    labels.rule = "must have whole numbers from 0 to 255";
    return labels;
  }
  std::ranges::sort(values);
  std::string names;
  for (const std::int64_t value : values)
    names += (names.empty() ? "" : ", ") + std::to_string(value);
  labels.rule = "must have the values " + names;
  labels.values = std::move(values);
  return labels;
}

}  // namespace

UnpreparedCase::UnpreparedCase(const NnUNetCase& of, const VolumePreparation& preparation,
                               const PrepareOptions& options)
    : case_(of),
      preparation_(preparation),
      options_(options),
      files_(of, "prepare volumes"),
      paths_(options.folder, of.name) {
  const VolumeIndex& shape = files_.info().shape;
  end_ = {shape[1], shape[2], shape[3]};
  whole_ = image(std::vector<ChannelMap>(files_.channels()), {any_bytes, any_bytes, any_bytes});
}

CropOf UnpreparedCase::crop_of(std::size_t first, std::size_t last, const Caches& caches) const {
  CropOf crop{.begin = begin_, .end = end_, .block = options_.chunk, .grid = files_.info()};
  const auto cache = std::make_shared<BlockCache>(caches.files);
  for (std::size_t i = first; i < last; ++i)
    crop.channels.push_back(std::make_shared<const CachedVolume>(files_.files()[i], cache));
  return crop;
}

UnpreparedCase::Made UnpreparedCase::image(std::vector<ChannelMap> maps,
                                           const Caches& caches) const {
  return on_grid(normalized_crop(crop_of(0, files_.channels(), caches), std::move(maps)),
                 GridSampling::linear, caches);
}

UnpreparedCase::Made UnpreparedCase::label(const Caches& caches) const {
  const DType dtype = fits_bytes(options_.values) ? DType::uint8 : DType::int16;
  const std::size_t last = files_.files().size();
  return on_grid(label_crop(crop_of(last - 1, last, caches), dtype), GridSampling::one_hot, caches);
}

UnpreparedCase::Made UnpreparedCase::on_grid(std::shared_ptr<const Volume> crop, GridSampling how,
                                             const Caches& caches) const {
  const std::array<double, 3> own = crop->info().spacing;
  std::array<double, 3> wanted = preparation_.spacing;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (wanted[axis] == 0.0) wanted[axis] = own[axis];
  if (same_spacing(own, wanted)) return {crop, crop};
  return {crop, resampled(std::make_shared<const CachedVolume>(
                              crop, std::make_shared<BlockCache>(caches.crop)),
                          wanted, how)};
}

UnpreparedCase::Caches UnpreparedCase::least(int threads) const {
  const auto blocks = static_cast<std::size_t>(threads);
  return {.files = files_.cache_bytes(),
          .crop = whole_.crop == whole_.written ? 0 : blocks * whole_.crop->info().block_bytes(),
          .written = blocks * whole_.written->info().block_bytes()};
}

/// Chunks are written in order: what a layer of them is made of is all that is needed at a time.
UnpreparedCase::Caches UnpreparedCase::enough(int threads) const {
  Caches caches = least(threads);
  const VolumeInfo& crop = whole_.crop->info();
  const VolumeInfo& written = whole_.written->info();
  caches.files = std::max(caches.files, files_.cache_bytes(crop.block[1] + 1));
  if (whole_.crop == whole_.written) return caches;  // its blocks are the chunks
  const double ratio = static_cast<double>(crop.shape[1]) / static_cast<double>(written.shape[1]);
  const auto slices =
      static_cast<std::int64_t>(std::ceil(ratio * static_cast<double>(written.block[1]))) + 3;
  caches.crop = std::max(caches.crop, layer_bytes(crop, slices));
  caches.written = std::max(caches.written, layer_bytes(written, options_.chunk[0]));
  return caches;
}

std::size_t UnpreparedCase::working_bytes(int threads) const {
  std::size_t chunk = sizeof(float);
  for (std::size_t axis = 0; axis < 3; ++axis)
    chunk *= static_cast<std::size_t>(
        std::min(options_.chunk[axis], whole_.written->info().shape[axis + 1]));
  return files_.slice_bytes() + static_cast<std::size_t>(threads) *
                                    (whole_.written->working_bytes() + writer_chunks * chunk);
}

std::size_t UnpreparedCase::least_bytes(int threads) const {
  return least(threads).sum() + working_bytes(threads);
}

std::size_t UnpreparedCase::enough_bytes(int threads) const {
  return enough(threads).sum() + working_bytes(threads);
}

UnpreparedCase::Caches UnpreparedCase::share(std::size_t bytes, int threads) const {
  const Caches low = least(threads);
  const Caches high = enough(threads);
  const std::size_t spare = bytes - least_bytes(threads);
  const std::size_t wanted = high.sum() - low.sum();
  if (spare >= wanted) return high;
  const double part = static_cast<double>(spare) / static_cast<double>(wanted);
  const auto between = [part](std::size_t from, std::size_t to) {
    return from + static_cast<std::size_t>(static_cast<double>(to - from) * part);
  };
  return {.files = between(low.files, high.files),
          .crop = between(low.crop, high.crop),
          .written = between(low.written, high.written)};
}

void UnpreparedCase::find_crop(const CaseStatistics& statistics) {
  if (statistics.box.empty()) {
    files_.refuse(
        "images must have a voxel that is not 0 in some channel, got none; are these the right "
        "files?");
  }
  if (!preparation_.crop) return;
  begin_ = statistics.box.begin;
  end_ = statistics.box.end;
}

std::vector<ChannelFigures> UnpreparedCase::figures(const CaseStatistics& statistics) const {
  double voxels = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxels *= static_cast<double>(end_[axis] - begin_[axis]);
  std::vector<ChannelFigures> channels;
  for (const ValueFigures& others : statistics.channels)
    channels.push_back({.others = others, .zeros = voxels - others.count});
  return channels;
}

// Whether whole numbers of one scale leave every channel enough values, and what is no outlier of
// it, too.
bool share_a_scale(const std::vector<MappedValues>& channels, const NumberRange& all) {
  constexpr double least_values = 256;
  constexpr double least_spread = 32;
  const double step = (all.high - all.low) / 65536.0;
  return std::ranges::none_of(channels, [&](const MappedValues& one) {
    const double values = one.range.high - one.range.low;
    return values > 0 && (values < least_values * step || one.spread < least_spread * step);
  });
}

bool UnpreparedCase::write(const Volume& volume, ChunkStoreOptions store) const {
  store.chunk = options_.chunk;
  store.stop = options_.stop;
  return write_chunk_store(volume, store).finished;
}

PreparedCase UnpreparedCase::described(const Volume& image) const {
  const VolumeInfo& from = files_.info();
  const VolumeIndex& shape = image.info().shape;
  return {.name = case_.name,
          .image = paths_.image,
          .label = files_.has_label() ? paths_.label : std::filesystem::path(),
          .extent = {shape[1], shape[2], shape[3]},
          .spacing = image.info().spacing,
          .original_extent = {from.shape[1], from.shape[2], from.shape[3]},
          .original_spacing = from.spacing,
          .original_affine = from.affine,
          .crop_begin = begin_,
          .crop_end = end_,
          .placed_together = files_.placed_together()};
}

std::optional<PreparedCase> UnpreparedCase::prepare(const std::string& made_from, std::size_t bytes,
                                                    int threads) {
  const Caches caches = share(bytes, threads);
  const std::optional<CaseStatistics> statistics =
      case_statistics(files_, caches.files, label_values(options_.values), options_.stop);
  if (!statistics) return {};
  find_crop(*statistics);
  std::vector<ChannelMap> maps;
  std::vector<MappedValues> mapped;
  NumberRange range;
  for (const ChannelFigures& channel : figures(*statistics)) {
    const bool one = preparation_.channels.size() == 1;
    maps.push_back(channel_map(preparation_.channels[one ? 0 : maps.size()], channel));
    mapped.push_back(mapped_values(maps.back(), channel));
    range.add(mapped.back().range);
  }
  // The record goes first: it must not vouch for files of which some are new and some old.
  std::error_code none;
  std::filesystem::remove(paths_.record, none);
  if (!files_.has_label()) std::filesystem::remove(paths_.label, none);
  ChunkStoreOptions store{
      .source_mark = hash_name(made_from), .threads = threads, .memory = caches.written};
  if (files_.has_label()) {
    store.file = paths_.label;
    if (!write(*label(caches).written, store)) return {};
  }
  const Made made = image(std::move(maps), caches);
  store.file = paths_.image;
  const bool whole = share_a_scale(mapped, range);
  store.dtype = whole ? DType::int16 : DType::float32;
  if (whole && range.low < range.high) store.clip = {range.low, range.high};
  if (!write(*made.written, store)) return {};
  PreparedCase prepared = described(*made.written);
  write_file_atomically(paths_.record, record_text(prepared, made_from),
                        {.who = "prepare volumes"});
  return prepared;
}

}  // namespace headrace::inline v1::detail
