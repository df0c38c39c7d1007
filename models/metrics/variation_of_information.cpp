#include <headrace/augment/volume/voxel_runs.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/variation_of_information.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/tbb/parallel_invoke.h>

namespace headrace::inline v1::models {
namespace {

struct Overlap {
  std::int32_t prediction = 0;
  std::int32_t truth = 0;
  std::int64_t voxels = 0;
};

/// How many voxels have which two labels.
class Contingency {
 public:
  void add(std::int32_t prediction, std::int32_t truth, std::int64_t voxels) {
    const auto key =
        static_cast<std::uint64_t>(prediction) << 32 | static_cast<std::uint32_t>(truth);
    if (last_ == nullptr || key != last_key_) {
      last_ = &overlaps_[key];  // which stays where it is
      last_key_ = key;
    }
    *last_ += voxels;
  }

  /// In the order of the labels.
  std::vector<Overlap> overlaps() const {
    std::vector<Overlap> all;
    for (const auto& [key, voxels] : overlaps_)
      all.push_back({static_cast<std::int32_t>(key >> 32),
                     static_cast<std::int32_t>(key & 0xFFFFFFFFU), voxels});
    std::ranges::sort(all, [](const Overlap& a, const Overlap& b) {
      return a.prediction != b.prediction ? a.prediction < b.prediction : a.truth < b.truth;
    });
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> overlaps_{};
  std::int64_t* last_ = nullptr;
  std::uint64_t last_key_ = 0;
};

/// The terms are added in the order of the labels.
VariationOfInformation information_of(const Contingency& counts) {
  const std::vector<Overlap> all = counts.overlaps();
  std::unordered_map<std::int32_t, std::int64_t> predicted;
  std::unordered_map<std::int32_t, std::int64_t> real;
  std::int64_t voxels = 0;
  for (const Overlap& overlap : all) {
    predicted[overlap.prediction] += overlap.voxels;
    real[overlap.truth] += overlap.voxels;
    voxels += overlap.voxels;
  }
  VariationOfInformation result;
  for (const Overlap& overlap : all) {
    const auto both = static_cast<double>(overlap.voxels);
    const double share = both / static_cast<double>(voxels);
    result.of_truth += share * std::log2(static_cast<double>(predicted[overlap.prediction]) / both);
    result.of_prediction += share * std::log2(static_cast<double>(real[overlap.truth]) / both);
  }
  return result;
}

/// Voxels of each component, from number 1 on.
std::vector<std::int64_t> sizes_of(const VoxelRuns& runs, std::int64_t components) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(components + 1));
  for (std::int64_t row = 0; row < runs.rows(); ++row) {
    const auto numbers = runs.numbers(row);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      sizes[static_cast<std::size_t>(numbers[i])] +=
          runs.runs(row)[i].end - runs.runs(row)[i].begin;
  }
  return sizes;
}

/// Where a row has components in both masks.
void count_row(const VoxelRuns& prediction, const VoxelRuns& truth, std::int64_t row,
               Contingency& counts) {
  const auto predicted = prediction.runs(row);
  const auto real = truth.runs(row);
  for (std::size_t i = 0, j = 0; i < predicted.size() && j < real.size();) {
    const std::int32_t begin = std::max(predicted[i].begin, real[j].begin);
    const std::int32_t end = std::min(predicted[i].end, real[j].end);
    if (begin < end) counts.add(prediction.numbers(row)[i], truth.numbers(row)[j], end - begin);
    if (predicted[i].end < real[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
}

/// What of the components lies where the other mask has background.
void count_rest(std::vector<std::int64_t> predicted, std::vector<std::int64_t> real,
                Contingency& counts) {
  for (const Overlap& overlap : counts.overlaps()) {
    predicted[static_cast<std::size_t>(overlap.prediction)] -= overlap.voxels;
    real[static_cast<std::size_t>(overlap.truth)] -= overlap.voxels;
  }
  for (std::size_t i = 1; i < predicted.size(); ++i)
    if (predicted[i] > 0) counts.add(static_cast<std::int32_t>(i), 0, predicted[i]);
  for (std::size_t i = 1; i < real.size(); ++i)
    if (real[i] > 0) counts.add(0, static_cast<std::int32_t>(i), real[i]);
}

}  // namespace

VariationOfInformation variation_of_information(const MaskPair& pair) {
  VoxelRuns prediction;
  VoxelRuns truth;
  std::vector<std::int64_t> predicted;
  std::vector<std::int64_t> real;
  const auto find = [](const VoxelBits& mask, VoxelRuns& runs, std::vector<std::int64_t>& sizes) {
    const std::int64_t components = runs.find_objects(mask, Neighbours::corners);
    sizes = sizes_of(runs, components);
  };
  oneapi::tbb::parallel_invoke([&] { find(pair.prediction(), prediction, predicted); },
                               [&] { find(pair.truth(), truth, real); });
  Contingency counts;
  for (std::int64_t row = 0; row < prediction.rows(); ++row)
    count_row(prediction, truth, row, counts);
  count_rest(std::move(predicted), std::move(real), counts);
  return information_of(counts);
}

VariationOfInformation variation_of_information(std::span<const std::int32_t> prediction,
                                                std::span<const std::int32_t> truth) {
  if (prediction.size() != truth.size()) {
    throw DataError("[variation of information] prediction and truth must be of one length, got " +
                    std::to_string(prediction.size()) + " and " + std::to_string(truth.size()));
  }
  Contingency counts;
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    const std::int32_t least = std::min(prediction[i], truth[i]);
    if (least < 0) {
      throw DataError("[variation of information] labels must be 0 or more, got " +
                      std::to_string(least) + " in place " + std::to_string(i));
    }
    if (prediction[i] != 0 || truth[i] != 0) counts.add(prediction[i], truth[i], 1);
  }
  return information_of(counts);
}

}  // namespace headrace::inline v1::models
