#include <headrace/apps/feed/augment.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/array_values.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/records.h>
#include <headrace/augment/normalize.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/sample/subset.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <sstream>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_pictures = 1000;
constexpr std::size_t picture_channels = 3;

}  // namespace

ChannelStatistics imagenet_statistics() {
  const Normalize known = Normalize::imagenet();
  return {.mean = known.mean, .std = known.std};
}

ChannelStatistics statistics_of(const std::shared_ptr<const Source>& pictures,
                                const std::vector<std::int64_t>& rows, const ImageSettings& image,
                                const BadSampleSettings& bad) {
  const auto some = std::make_shared<const Subset>(pictures, evenly_spread(rows, most_pictures));
  const int side = image.decode.side;
  const DecodeImage decode{.crop = ResizeTo{.height = side, .width = side}};
  Loader loader = Pipeline::from(some)
                      .then(decode)
                      .then(make_prepare(image.prepare, decode.schema(some->fields()), {}))
                      .named("statistics")
                      .batch({.size = 16, .tail = Tail::shorter})
                      .on_bad_sample(bad.before_training())
                      .build({.log = &warn_of_data});
  // Whole numbers: the sums are the same in every order.
  std::array<std::uint64_t, picture_channels> sum{};
  std::array<std::uint64_t, picture_channels> squares{};
  std::uint64_t pixels = 0;
  for (Batch& batch : loader.epoch(0)) {
    const Tensor& images = batch["image"];
    const auto* level = images.data<std::uint8_t>();
    // Rows that are left out are zero.
    const auto count = static_cast<std::size_t>(side) * static_cast<std::size_t>(side) *
                       static_cast<std::size_t>(batch.valid_rows().value());
    const auto all = static_cast<std::size_t>(images.shape().elements()) / picture_channels;
    for (std::size_t i = 0; i < all; ++i)
      for (std::size_t c = 0; c < picture_channels; ++c) {
        const std::uint64_t value = level[i * picture_channels + c];
        sum[c] += value;
        squares[c] += value * value;
      }
    pixels += count;
  }
  if (pixels == 0)
    throw DataError("[data] " + pictures->name() +
                    ": image.normalise: dataset must have a picture that can be read, has none");
  ChannelStatistics statistics;
  const auto n = static_cast<double>(pixels);
  for (std::size_t c = 0; c < picture_channels; ++c) {
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

std::string to_text(const std::vector<ChannelStatistics>& of_members) {
  std::string text;
  for (const ChannelStatistics& one : of_members)
    text += (text.empty() ? "" : "; ") + to_text(one);
  return text;
}

std::vector<ChannelStatistics> parse_members_statistics(const std::string& text) {
  std::vector<ChannelStatistics> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find("; ", begin), text.size());
    all.push_back(parse_statistics(text.substr(begin, end - begin)));
    begin = end + 2;
  }
  return all;
}

std::string normalisation_of(const std::string& text, std::int64_t member) {
  if (text.find("; ") == std::string::npos) return text;
  return to_text(parse_members_statistics(text).at(static_cast<std::size_t>(member)));
}

namespace {

constexpr std::size_t most_arrays = 10'000;
constexpr std::size_t block_arrays = 64;

// Of values less an origin, so that large means cost no digits.
struct Sums {
  std::vector<double> sum{};
  std::vector<double> squares{};
  double count = 0.0;  ///< of each channel

  void resize(std::size_t channels) {
    sum.resize(channels);
    squares.resize(channels);
  }
};

std::vector<double> values_of(const Source& arrays, std::int64_t row, Sample& sample) {
  arrays.read(row, sample);
  const Tensor& array = sample[array_field];
  std::vector<double> values(static_cast<std::size_t>(array.elements()));
  bool finite = true;
  for_each_value(array, [&](std::size_t i, double value) {
    values[i] = value;
    finite = finite && std::isfinite(value);
  });
  if (!finite)
    throw DataError(
        fmt::format("[data] {}: must hold finite values, got infinite ones or nan; "
                    "repair it, leave it out, or set data.bad_samples.rule: replace",
                    arrays.origin(row)));
  return values;
}

void add(Sums& sums, const std::vector<double>& values, const std::vector<double>& origin) {
  const std::size_t channels = origin.size();
  const std::size_t each = values.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = c * each; i < (c + 1) * each; ++i) {
      const double value = values[i] - origin[c];
      sums.sum[c] += value;
      sums.squares[c] += value * value;
    }
  sums.count += static_cast<double>(each);
}

// Takes those out that cannot be read, and says how many; not where there are no others.
void leave_out_bad(const Source& arrays, std::vector<std::int64_t>& rows) {
  std::vector<char> good(rows.size(), 0);
  headrace::detail::in_parallel(rows.size(), static_cast<std::size_t>(usable_cores()),
                                [&arrays, &rows, &good] {
                                  return [&, sample = Sample()](std::size_t i) mutable {
                                    try {
                                      values_of(arrays, rows[i], sample);
                                      good[i] = 1;
                                    } catch (const DataError&) {
                                      sample.reset();
                                    }
                                  };
                                });
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (good[i] != 0) others.push_back(rows[i]);
  if (others.empty() || others.size() == rows.size()) return;
  log_data(
      headrace::LogLevel::warning,
      fmt::format("[data] {} of {} records that mean and deviation are taken of cannot be read "
                  "or are not finite, they are left out there",
                  rows.size() - others.size(), rows.size()));
  rows = std::move(others);
}

std::vector<double> origin_of(const std::vector<double>& values, std::size_t channels) {
  std::vector<double> origin(channels);
  for (std::size_t c = 0; c < channels; ++c)
    origin[c] = values[c * (values.size() / channels)];
  return origin;
}

ChannelStatistics statistics_of(const std::vector<Sums>& blocks,
                                const std::vector<double>& origin) {
  Sums all;
  all.resize(origin.size());
  for (const Sums& block : blocks) {
    for (std::size_t c = 0; c < origin.size(); ++c) {
      all.sum[c] += block.sum[c];
      all.squares[c] += block.squares[c];
    }
    all.count += block.count;
  }
  ChannelStatistics statistics;
  for (std::size_t c = 0; c < origin.size(); ++c) {
    const double mean = all.sum[c] / all.count;
    const double deviation = std::sqrt(std::max(0.0, all.squares[c] / all.count - mean * mean));
    const bool varies = deviation > 1e-7 * std::max(1e-30, std::abs(mean + origin[c]));
    statistics.mean.push_back(static_cast<float>(mean + origin[c]));
    statistics.std.push_back(varies ? static_cast<float>(deviation) : 1.0F);
  }
  return statistics;
}

}  // namespace

ChannelStatistics statistics_of_arrays(const Source& arrays, const std::vector<std::int64_t>& rows,
                                       const BadSampleSettings& bad) {
  std::vector<std::int64_t> some = evenly_spread(rows, most_arrays);
  if (bad.rule != BadSamples::Rule::fail) leave_out_bad(arrays, some);
  const auto channels = static_cast<std::size_t>(
      channels_of(without_last_channel(arrays.fields().at(array_field).shape)));
  Sample first;
  const std::vector<double> origin = origin_of(values_of(arrays, some.front(), first), channels);
  std::vector<Sums> blocks((some.size() + block_arrays - 1) / block_arrays);
  const auto make = [&] {
    return [&, sample = Sample()](std::size_t block) mutable {
      blocks[block].resize(channels);
      const std::size_t end = std::min(some.size(), (block + 1) * block_arrays);
      for (std::size_t i = block * block_arrays; i < end; ++i)
        add(blocks[block], values_of(arrays, some[i], sample), origin);
    };
  };
  headrace::detail::in_parallel(blocks.size(), static_cast<std::size_t>(usable_cores()), make);
  return statistics_of(blocks, origin);
}

ChannelStatistics array_statistics(const ArraySettings& array, std::int64_t channels,
                                   const std::function<ChannelStatistics()>& of_data) {
  if (std::holds_alternative<NormaliseAsData>(array.normalise)) return of_data();
  const auto* by = std::get_if<NormaliseArraysBy>(&array.normalise);
  if (by == nullptr) return {.mean = {0.0F}, .std = {1.0F}};
  const auto count = static_cast<std::int64_t>(by->mean.size());
  if (by->std.size() != by->mean.size() || (count != 1 && count != channels))
    throw ConfigError(
        fmt::format("[config] array.normalise: mean and std must have one value each, or {} as the "
                    "records have "
                    "features or channels, got {} and {}",
                    channels, by->mean.size(), by->std.size()));
  return {.mean = by->mean, .std = by->std};
}

std::optional<double> middle_of(const ArraySettings& array, const ChannelStatistics& statistics) {
  if (array.fill) return array.fill;
  if (std::holds_alternative<NotNormalised>(array.normalise)) return std::nullopt;
  return std::accumulate(statistics.mean.begin(), statistics.mean.end(), 0.0) /
         static_cast<double>(statistics.mean.size());
}

}  // namespace headrace::inline v1::app
