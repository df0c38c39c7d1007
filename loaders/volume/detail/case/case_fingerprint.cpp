#include <headrace/loaders/volume/detail/case/case_fingerprint.h>
#include <headrace/loaders/volume/detail/case/case_slices.h>
#include <headrace/loaders/volume/volume_values.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// As many values as `most`, at equal steps of the shares.
std::vector<SharedValue> thinned(const std::vector<SharedValue>& values, std::size_t most) {
  std::vector<SharedValue> fewer;
  const double step = 1.0 / static_cast<double>(most);
  double passed = 0;
  for (const SharedValue& value : values) {
    passed += static_cast<double>(value.share);
    while (fewer.size() < most && (static_cast<double>(fewer.size()) + 0.5) * step <= passed)
      fewer.push_back({value.value, static_cast<float>(step)});
  }
  return fewer;
}

void sort_by_value(std::vector<SharedValue>& values) {
  std::ranges::sort(values, {}, &SharedValue::value);
}

/// The first value at which that share of all is passed.
double quantile(const std::vector<SharedValue>& sorted, double all, double share) {
  double passed = 0;
  for (const SharedValue& value : sorted) {
    passed += static_cast<double>(value.share);
    if (passed >= share * all) return static_cast<double>(value.value);
  }
  return static_cast<double>(sorted.back().value);
}

}  // namespace

ForegroundValues::ForegroundValues(std::size_t most, std::vector<float> table, std::uint64_t seed)
    : most_(most), table_(std::move(table)), counts_(table_.size()), random_(seed) {}

void ForegroundValues::count_in(float value) noexcept {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  const double distance = static_cast<double>(value) - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (static_cast<double>(value) - mean_);
}

void ForegroundValues::keep(float value) {
  ++offered_;
  if (kept_.size() < most_) {
    kept_.push_back(value);
  } else if (const std::uint64_t place = random_() % offered_; place < most_) {
    kept_[static_cast<std::size_t>(place)] = value;
  }
}

ForegroundFigures ForegroundValues::figures() {
  ForegroundFigures made{.count = count_, .mean = mean_, .min = min_, .max = max_};
  if (count_ == 0) return made;
  const auto all = static_cast<double>(count_);
  made.variance = squares_ / all;
  for (std::size_t code = 0; code < counts_.size(); ++code) {
    if (counts_[code] > 0)
      made.values.push_back(
          {table_[code], static_cast<float>(static_cast<double>(counts_[code]) / all)});
  }
  const double each = static_cast<double>(offered_) / all / static_cast<double>(kept_.size());
  for (const float value : std::exchange(kept_, {}))
    made.values.push_back({value, static_cast<float>(each)});
  if (made.values.size() > most_) {
    sort_by_value(made.values);
    made.values = thinned(made.values, most_);
  }
  made.values.shrink_to_fit();
  return made;
}

NnUNetForegroundValues intensity_of(std::span<ForegroundFigures*> cases) {
  NnUNetForegroundValues made{.min = INFINITY, .max = -INFINITY};
  const auto count = static_cast<double>(cases.size());
  std::vector<SharedValue> values;
  for (ForegroundFigures* one : cases) {
    made.mean += one->mean / count;
    made.min = std::min(made.min, static_cast<double>(one->min));
    made.max = std::max(made.max, static_cast<double>(one->max));
    values.insert(values.end(), one->values.begin(), one->values.end());
    one->values = {};
  }
  double variance = 0;
  for (const ForegroundFigures* one : cases) {
    const double distance = one->mean - made.mean;
    variance += (one->variance + distance * distance) / count;
  }
  made.std = std::sqrt(variance);
  sort_by_value(values);
  double all = 0;
  for (const SharedValue& value : values)
    all += static_cast<double>(value.share);
  made.percentile_00_5 = quantile(values, all, 0.005);
  made.median = quantile(values, all, 0.5);
  made.percentile_99_5 = quantile(values, all, 0.995);
  return made;
}

namespace {

constexpr double flat_spacing = 999;  // of an image of one slice, by its coarser axis

/// Whether a voxel is stored as 8 or 16 bits, whose values a table holds.
bool has_table(DType dtype) {
  return size_of(dtype) <= 2;
}

std::size_t code_at(std::span<const std::byte> stored, std::size_t voxel, DType dtype) {
  if (size_of(dtype) == 1) return static_cast<std::size_t>(stored[voxel]);
  std::uint16_t code = 0;
  std::memcpy(&code, stored.data() + 2 * voxel, sizeof code);
  return code;
}

std::vector<float> table_of(const VolumeInfo& info) {
  if (!has_table(info.dtype)) return {};
  const std::size_t bytes = size_of(info.dtype);
  std::vector<std::byte> stored;
  for (std::size_t code = 0; code < std::size_t{1} << (8 * bytes); ++code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    std::array<std::byte, 2> both{};
    std::memcpy(both.data(), &narrow, sizeof narrow);
    stored.insert(stored.end(), both.begin(), both.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  std::vector<float> values(stored.size() / bytes);
  to_float(info, stored, values.data());
  return values;
}

/// 0, 1, 2 and so on.
LabelValues labels_up_to(std::size_t count) {
  LabelValues labels{.rule = "must have the values of dataset.json's \"labels\", 0 to " +
                             std::to_string(count - 1),
                     .way_out = "name it there, or correct the label"};
  for (std::size_t value = 0; value < count; ++value)
    labels.values.push_back(static_cast<std::int64_t>(value));
  return labels;
}

/// Foreground where all channels are 0 counts only inside the box, which is known at the end.
std::int64_t zeros_inside(CaseSlices& reader, const GrowingBox& box) {
  std::int64_t count = 0;
  for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z) {
    reader.read(z);
    for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y)
      for (std::int64_t x = box.begin[2]; x < box.end[2]; ++x) {
        const auto voxel = static_cast<std::size_t>(y * reader.columns() + x);
        if (reader.foreground(voxel) && reader.zero(voxel)) ++count;
      }
  }
  return count;
}

}  // namespace

std::size_t OpenCase::bytes() const {
  return files_.cache_bytes() + files_.slice_bytes();
}

CaseFingerprint OpenCase::look(std::size_t values, std::size_t most, std::uint64_t seed) const {
  CaseSlices reader(files_, files_.cache_bytes(), labels_up_to(values));
  std::vector<ForegroundValues> found;
  for (std::size_t channel = 0; channel < reader.channels(); ++channel)
    found.emplace_back(most, table_of(files_.files()[channel]->info()), seed + channel);
  const VolumeInfo& info = files_.info();
  GrowingBox box;
  std::int64_t zeros = 0;
  for (std::int64_t z = 0; z < info.shape[1]; ++z) {
    reader.read(z);
    std::size_t voxel = 0;
    for (std::int64_t y = 0; y < info.shape[2]; ++y) {
      for (std::int64_t x = 0; x < info.shape[3]; ++x, ++voxel) {
        const bool zero = reader.zero(voxel);
        if (!zero) box.add(z, y, x);
        if (!reader.foreground(voxel)) continue;
        if (zero) {
          ++zeros;
          continue;
        }
        for (std::size_t channel = 0; channel < found.size(); ++channel) {
          if (found[channel].coded()) {
            found[channel].add_code(
                code_at(reader.stored(channel), voxel, files_.files()[channel]->info().dtype));
          } else {
            found[channel].add(reader.values(channel)[voxel]);
          }
        }
      }
    }
  }
  if (box.empty()) box.end = {info.shape[1], info.shape[2], info.shape[3]};
  if (zeros > 0) zeros = zeros_inside(reader, box);
  CaseFingerprint made{.spacing = info.spacing,
                       .has_value = reader.has_value(),
                       .placed_together = files_.placed_together()};
  for (ForegroundValues& channel : found) {
    for (std::int64_t i = 0; i < zeros; ++i)
      channel.add(0.0F);
    made.channels.push_back(channel.figures());
  }
  double all = 1;
  double inside = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.shape[axis] = box.end[axis] - box.begin[axis];
    inside *= static_cast<double>(made.shape[axis]);
    all *= static_cast<double>(info.shape[axis + 1]);
  }
  made.relative_size = inside / all;
  if (info.shape[1] == 1)
    made.spacing[0] = flat_spacing * std::max(info.spacing[1], info.spacing[2]);
  return made;
}

}  // namespace headrace::inline v1::detail
