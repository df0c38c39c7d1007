#pragma once

#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/task/array_settings.h>
#include <headrace/apps/task/image_settings.h>
#include <headrace/engine/sample/source.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
/// Reads and decodes them on all usable cores. Throws what reading throws where `bad` says that it
/// fails; else such are left out and said.
ChannelStatistics statistics_of(const std::shared_ptr<const Source>& pictures,
                                const std::vector<std::int64_t>& rows, const ImageSettings& image,
                                const BadSampleSettings& bad = {});

/// "mean 0.485 0.456 0.406, std 0.229 0.224 0.225": for a checkpoint's notes.
std::string to_text(const ChannelStatistics& statistics);

/// The statistics of such a text. Throws ConfigError for another.
ChannelStatistics parse_statistics(const std::string& text);

/// The same of several members, "; " between them; of one as above.
std::string to_text(const std::vector<ChannelStatistics>& of_members);
std::vector<ChannelStatistics> parse_members_statistics(const std::string& text);

/// Of such a text what is a member's: all of it where it is of one.
std::string normalisation_of(const std::string& text, std::int64_t member);

/// Mean and deviation of each feature of vectors, of each channel of spectrograms, over the arrays
/// at these rows, at most 10000 of them, evenly spread; all of their frames. What never varies has
/// the deviation 1. Reads them on all usable cores; the same on any number. Throws what reading
/// throws, and DataError naming a record whose values are not finite; other rules of `bad` leave
/// them out, which is said.
ChannelStatistics statistics_of_arrays(const Source& arrays, const std::vector<std::int64_t>& rows,
                                       const BadSampleSettings& bad = {});

/// What section `array` normalises by. Throws ConfigError for values that are not one for each of
/// `channels`, or one for all.
ChannelStatistics array_statistics(const ArraySettings& array, std::int64_t channels,
                                   const std::function<ChannelStatistics()>& of_data);

/// The one value in the middle: of padded frames and masked cells; nothing where values are left as
/// they are.
std::optional<double> middle_of(const ArraySettings& array, const ChannelStatistics& statistics);

}  // namespace headrace::inline v1::app
