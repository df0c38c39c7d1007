#pragma once

#include <headrace/engine/base/random.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

enum class LeakSplit : unsigned char { training, validation, testing };
inline constexpr std::array<std::string_view, 3> leak_split_names{"training", "validation",
                                                                  "testing"};

/// A sound file: all of it belongs to one split.
struct LeakSound {
  std::filesystem::path file{};
  std::string voice{};  ///< who speaks, or the piece of music: never mixed in a recording
  LeakSplit split = LeakSplit::training;
};

/// Sounds and the short name of exactly this choice, for recipes.
struct LeakSounds {
  std::vector<LeakSound> sounds{};
  std::string digest{};
};

/// Speech in five languages and five pieces of music from Debian's Asterisk packages, fetched where
/// they are not in the cache. Speech is split 14:3:3 by a hash of its path, music by artist.
LeakSounds debian_leak_sounds(const std::function<void(std::string_view)>& say);

/// WAV, FLAC and Ogg files of a folder with a folder for each voice, split 14:3:3 by a hash of
/// their paths. Throws ConfigError as AudioFolder does.
LeakSounds folder_leak_sounds(const std::filesystem::path& folder);

/// Whose sounds the packages hold and under which licences they may be passed on.
std::string_view debian_leak_attribution();

/// A recording of the job: 10 s at 4096 Hz in 40 long segments of two short ones.
inline constexpr int leak_sample_rate = 4096;
inline constexpr std::int64_t leak_longs = 40;
inline constexpr std::int64_t leak_shorts = 2;
inline constexpr std::int64_t leak_short_samples = 512;
inline constexpr std::int64_t leak_recording_samples =
    leak_longs * leak_shorts * leak_short_samples;

/// How recordings are made of sounds.
struct LeakMix {
  std::uint64_t seed = 42;
  double hop_s = 5.0;         ///< from the start of a recording to the next one's in one voice
  double lowest_snr = -5.0;   ///< of background to leak, in dB
  double highest_snr = 10.0;  ///< likewise
};

/// The sounds of one split, voice after voice, as backgrounds: every second recording gets a leak.
class LeakBackgrounds {
 public:
  /// Decodes and resamples all sounds of the split. Throws DataError naming a file that cannot be
  /// decoded.
  LeakBackgrounds(const LeakSounds& sounds, LeakSplit split, const LeakMix& mix);

  std::int64_t recordings() const { return static_cast<std::int64_t>(starts_.size()); }
  static bool has_leak(std::int64_t recording) { return recording % 2 == 1; }

  /// Makes a recording of leak_recording_samples: the background at a drawn level with hiss at -60
  /// dB of full scale and, every second time, noise of 300 to 1500 Hz at a drawn distance below or
  /// above it. A function of seed, split and number; thread-safe.
  void make(std::int64_t recording, std::span<std::int16_t> out) const;

 private:
  LeakSplit split_;
  LeakMix mix_;
  std::vector<float> samples_;  ///< all voices end to end
  std::vector<std::size_t> starts_;
};

}  // namespace headrace::inline v1::app
