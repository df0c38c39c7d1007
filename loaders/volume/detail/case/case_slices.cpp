#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/case/case_slices.h>
#include <headrace/loaders/volume/volume_values.h>

#include <cmath>
#include <utility>

namespace headrace::inline v1::detail {

CaseSlices::CaseSlices(const CaseFiles& files, std::size_t cache_bytes, LabelValues values)
    : files_(files),
      values_(std::move(values)),
      slices_(files.files().size()),
      has_value_(values_.values.size()) {
  const auto cache = std::make_shared<BlockCache>(cache_bytes);
  for (const auto& file : files.files())
    volumes_.push_back(std::make_unique<CachedVolume>(file, cache));
  rows_ = files.info().shape[2];
  columns_ = files.info().shape[3];
}

void CaseSlices::read(std::int64_t z) {
  const VolumeBox box{{0, z, 0, 0}, {1, z + 1, rows_, columns_}};
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    const VolumeInfo& info = volumes_[i]->info();
    Slice& slice = slices_[i];
    slice.values.resize(static_cast<std::size_t>(rows_ * columns_));
    slice.stored.resize(slice.values.size() * size_of(info.dtype));
    volumes_[i]->read_box(box,
                          BoxMemory::dense(slice.stored.data(), box.shape(), size_of(info.dtype)));
    to_float(info, slice.stored, slice.values.data());
  }
  check_values();
  if (files_.has_label()) check_label();
}

void CaseSlices::check_values() const {
  for (std::size_t channel = 0; channel < channels(); ++channel) {
    if (!std::ranges::all_of(slices_[channel].values, [](float v) { return std::isfinite(v); })) {
      files_.refuse(channel,
                    "voxels must be numbers, got NaN or infinity; replace them by what stands for "
                    "nothing in these images");
    }
  }
}

void CaseSlices::check_label() {
  const std::vector<float>& label = slices_.back().values;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (i > 0 && label[i] == label[i - 1]) continue;  // as most voxels
    const auto found =
        std::ranges::lower_bound(values_.values, static_cast<double>(label[i]), {},
                                 [](std::int64_t value) { return static_cast<double>(value); });
    if (found == values_.values.end() || static_cast<double>(*found) != label[i]) {
      files_.refuse(volumes_.size() - 1, "a label " + values_.rule + ", got " +
                                             in_digits(label[i]) + "; " + values_.way_out);
    }
    has_value_[static_cast<std::size_t>(found - values_.values.begin())] = true;
  }
}

}  // namespace headrace::inline v1::detail
