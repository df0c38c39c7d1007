#pragma once

#include <headrace/apps/task/image_settings.h>
#include <headrace/engine/sample/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Mean and deviation of each channel, of values in [0, 1].
struct ChannelStatistics {
  std::vector<float> mean{};
  std::vector<float> std{};
};

/// ImageNet's.
ChannelStatistics imagenet_statistics();

/// Those of pictures at these rows, at most 1000 of them, evenly spread, each resized to the size
/// of `image` and prepared as it says.
/// Reads and decodes them on all usable cores. Throws what reading throws.
ChannelStatistics statistics_of(const std::shared_ptr<const Source>& pictures,
                                const std::vector<std::int64_t>& rows, const ImageSettings& image);

/// "mean 0.485 0.456 0.406, std 0.229 0.224 0.225": for a checkpoint's notes.
std::string to_text(const ChannelStatistics& statistics);

/// The statistics of such a text. Throws ConfigError for another.
ChannelStatistics parse_statistics(const std::string& text);

}  // namespace headrace::inline v1::app
