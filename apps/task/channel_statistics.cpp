#include <headrace/apps/feed/augment.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/records.h>
#include <headrace/augment/normalize.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/subset.h>
#include <headrace/loaders/image/decode_image.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_pictures = 1000;
constexpr std::size_t channels = 3;

}  // namespace

ChannelStatistics imagenet_statistics() {
  const Normalize known = Normalize::imagenet();
  return {.mean = known.mean, .std = known.std};
}

ChannelStatistics statistics_of(const std::shared_ptr<const Source>& pictures,
                                const std::vector<std::int64_t>& rows, const ImageSettings& image) {
  const auto some = std::make_shared<const Subset>(pictures, evenly_spread(rows, most_pictures));
  const int side = image.decode.side;
  const DecodeImage decode{.crop = ResizeTo{.height = side, .width = side}};
  Loader loader = Pipeline::from(some)
                      .then(decode)
                      .then(make_prepare(image.prepare, decode.schema(some->fields()), {}))
                      .named("statistics")
                      .batch({.size = 16, .tail = Tail::shorter})
                      .build();
  // Whole numbers: the sums are the same in every order.
  std::array<std::uint64_t, channels> sum{};
  std::array<std::uint64_t, channels> squares{};
  std::uint64_t pixels = 0;
  for (Batch& batch : loader.epoch(0)) {
    const Tensor& images = batch["image"];
    const auto* level = images.data<std::uint8_t>();
    const auto count = static_cast<std::size_t>(images.shape().elements()) / channels;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint64_t value = level[i * channels + c];
        sum[c] += value;
        squares[c] += value * value;
      }
    pixels += count;
  }
  ChannelStatistics statistics;
  const auto n = static_cast<double>(pixels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / n;
    const double variance = static_cast<double>(squares[c]) / n - mean * mean;
    statistics.mean.push_back(static_cast<float>(mean / 255.0));
    // Pictures of one colour would be divided by nothing.
    statistics.std.push_back(
        static_cast<float>(std::max(std::sqrt(std::max(variance, 0.0)), 1.0) / 255.0));
  }
  return statistics;
}

std::string to_text(const ChannelStatistics& statistics) {
  return fmt::format("mean {}, std {}", fmt::join(statistics.mean, " "),
                     fmt::join(statistics.std, " "));
}

ChannelStatistics parse_statistics(const std::string& text) {
  const auto comma = text.find(", std ");
  ChannelStatistics statistics;
  if (text.starts_with("mean ") && comma != std::string::npos) {
    std::istringstream means(text.substr(5, comma - 5));
    std::istringstream deviations(text.substr(comma + 6));
    for (float value = 0.0F; means >> value;)
      statistics.mean.push_back(value);
    for (float value = 0.0F; deviations >> value;)
      statistics.std.push_back(value);
  }
  if (statistics.mean.empty() || statistics.mean.size() != statistics.std.size())
    throw ConfigError(
        fmt::format("[weights] normalisation must be \"mean M ..., std S ...\", got \"{}\"", text));
  return statistics;
}

}  // namespace headrace::inline v1::app
