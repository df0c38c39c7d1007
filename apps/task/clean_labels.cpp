#include <headrace/apps/task/clean_labels.h>
#include <headrace/augment/volume/closing.h>
#include <headrace/augment/volume/components.h>

#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

template <class Label>
void clean(std::span<Label> labels, const GridExtent& extent, const VolumeDecision& decision) {
  if (decision.smallest > 1 || decision.largest_only)
    remove_components(labels, extent,
                      {.least = decision.smallest, .keep_largest = decision.largest_only});
  if (decision.closing > 0)
    close_labels(labels, extent, {.radius = static_cast<double>(decision.closing)});
}

}  // namespace

VolumeDecision decision_of(const VolumePredictSettings& predict) {
  return {.smallest = predict.smallest,
          .largest_only = predict.largest_only,
          .closing = predict.closing};
}

std::string to_string(const VolumeDecision& decision) {
  std::string text =
      decision.smooth > 0.0 ? fmt::format("smoothed by {:.3g}, ", decision.smooth) : std::string();
  text += decision.threshold ? fmt::format("above {:.3g}", *decision.threshold) : "best class";
  if (decision.largest_only) text += ", largest component";
  if (decision.smallest > 1)
    text += fmt::format(", components of {} voxels or more", decision.smallest);
  if (decision.closing > 0) text += fmt::format(", closed by {}", decision.closing);
  return text;
}

VolumeDecision on_grid(VolumeDecision decision, const std::array<double, 3>& ratio) {
  const double volume = ratio[0] * ratio[1] * ratio[2];
  const double length = (ratio[0] + ratio[1] + ratio[2]) / 3.0;
  decision.smallest = std::llround(static_cast<double>(decision.smallest) / volume);
  decision.closing = static_cast<int>(std::lround(static_cast<double>(decision.closing) / length));
  return decision;
}

void clean_labels(std::span<std::uint8_t> labels, const GridExtent& extent,
                  const VolumeDecision& decision) {
  clean(labels, extent, decision);
}

void clean_labels(std::span<std::int16_t> labels, const GridExtent& extent,
                  const VolumeDecision& decision) {
  clean(labels, extent, decision);
}

}  // namespace headrace::inline v1::app
