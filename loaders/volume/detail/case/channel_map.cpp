#include <headrace/loaders/volume/detail/case/channel_map.h>

#include <cmath>

namespace headrace::inline v1::detail {
namespace {

constexpr double least_deviation = 1e-8;

ValueFigures all_of(const ChannelFigures& channel) {
  ValueFigures all = channel.others;
  all.add(ValueFigures::of_zeros(channel.zeros));
  return all;
}

}  // namespace

ChannelMap channel_map(const VolumeNormalization& normalization, const ChannelFigures& channel) {
  using Scheme = VolumeNormalization::Scheme;
  ChannelMap map;
  const auto standardize = [&map](double mean, double deviation) {
    map.mean = mean;
    map.deviation = std::max(deviation, least_deviation);
  };
  const ValueFigures all = all_of(channel);
  switch (normalization.scheme) {
    case Scheme::none:
      break;
    case Scheme::zscore:
      standardize(all.mean, all.deviation());
      break;
    case Scheme::zscore_nonzero:
      standardize(channel.others.mean, channel.others.deviation());
      map.zeros_stay = true;
      break;
    case Scheme::ct:
      map.low = normalization.low;
      map.high = normalization.high;
      standardize(normalization.mean, normalization.deviation);
      break;
    case Scheme::zero_to_one:
      standardize(all.low, all.high - all.low);
      break;
    case Scheme::by_255:
      map.deviation = 255;
      break;
  }
  return map;
}

MappedValues mapped_values(const ChannelMap& map, const ChannelFigures& channel) {
  // Those of zscore_nonzero lie on both sides of 0, which the other voxels become.
  const ValueFigures values = map.zeros_stay ? channel.others : all_of(channel);
  MappedValues mapped{
      .range = {static_cast<float>(map(values.low)), static_cast<float>(map(values.high))}};
  if (std::isinf(map.low) && channel.others.count > 0)
    mapped.spread = channel.others.distances / channel.others.count / map.deviation;
  return mapped;
}

}  // namespace headrace::inline v1::detail
