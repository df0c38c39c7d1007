#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
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

}  // namespace headrace::inline v1::app
