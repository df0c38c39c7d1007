#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/detail/run_components.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <map>
#include <string>

namespace headrace::inline v1 {
namespace {

void check_spans(const GridExtent& extent, std::size_t labels, std::size_t numbers) {
  double voxels = 1.0;
  for (const std::int64_t side : extent)
    voxels *= static_cast<double>(std::max<std::int64_t>(side, 0));
  if (voxels >= 2147483648.0)
    throw ConfigError("[components] a volume must have fewer than 2^31 voxels");
  if (static_cast<double>(labels) != voxels || labels != numbers) {
    throw ConfigError("[components] extent says " + std::to_string(voxels_of(extent)) +
                      " voxels, got " + std::to_string(labels) + " labels and place for " +
                      std::to_string(numbers));
  }
}

template <class Label>
std::int32_t number_voxels(std::span<const Label> labels, const GridExtent& extent,
                           const ComponentRule& rule, std::span<std::int32_t> numbers) {
  check_spans(extent, labels.size(), numbers.size());
  const detail::LabelRuns found = detail::find_components(labels.data(), extent, rule);
  std::ranges::fill(numbers, 0);
  for (const detail::LabelRun& run : found.runs) {
    std::int32_t* row = numbers.data() + run.row * extent[2];
    std::fill(row + run.begin, row + run.end, run.component + 1);
  }
  return found.components;
}

struct Component {
  std::int32_t label = 0;
  std::int64_t voxels = 0;
};

std::vector<Component> measure(const detail::LabelRuns& found) {
  std::vector<Component> all(static_cast<std::size_t>(found.components));
  for (const detail::LabelRun& run : found.runs) {
    Component& component = all[static_cast<std::size_t>(run.component)];
    component.label = run.label;
    component.voxels += run.end - run.begin;
  }
  return all;
}

/// For each component whether it goes.
std::vector<bool> choose(const std::vector<Component>& all, const ComponentFilter& filter) {
  std::map<std::int32_t, std::size_t> largest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [at, is_new] = largest.try_emplace(all[i].label, i);
    if (!is_new && all[i].voxels > all[at->second].voxels) at->second = i;
  }
  std::vector<bool> goes(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool asked = filter.labels.empty() || std::ranges::count(filter.labels, all[i].label) > 0;
    const bool small = all[i].voxels < filter.least;
    const bool lesser = filter.keep_largest && largest.at(all[i].label) != i;
    goes[i] = asked && (small || lesser);
  }
  return goes;
}

template <class Label>
std::int64_t remove(std::span<Label> labels, const GridExtent& extent,
                    const ComponentFilter& filter) {
  check_spans(extent, labels.size(), labels.size());
  const detail::LabelRuns found =
      detail::find_components(labels.data(), extent, {.neighbours = filter.neighbours});
  const std::vector<bool> goes = choose(measure(found), filter);
  for (const detail::LabelRun& run : found.runs) {
    if (!goes[static_cast<std::size_t>(run.component)]) continue;
    Label* row = labels.data() + run.row * extent[2];
    std::fill(row + run.begin, row + run.end, Label{0});
  }
  return std::ranges::count(goes, true);
}

}  // namespace

std::int32_t label_components(std::span<const std::uint8_t> labels, const GridExtent& extent,
                              const ComponentRule& rule, std::span<std::int32_t> numbers) {
  return number_voxels(labels, extent, rule, numbers);
}

std::int32_t label_components(std::span<const std::int16_t> labels, const GridExtent& extent,
                              const ComponentRule& rule, std::span<std::int32_t> numbers) {
  return number_voxels(labels, extent, rule, numbers);
}

std::int64_t remove_components(std::span<std::uint8_t> labels, const GridExtent& extent,
                               const ComponentFilter& filter) {
  return remove(labels, extent, filter);
}

std::int64_t remove_components(std::span<std::int16_t> labels, const GridExtent& extent,
                               const ComponentFilter& filter) {
  return remove(labels, extent, filter);
}

}  // namespace headrace::inline v1
