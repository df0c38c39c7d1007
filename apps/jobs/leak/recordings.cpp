#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/jobs/leak/recordings.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/audio/audio_decoder.h>
#include <headrace/loaders/audio/audio_folder.h>
#include <headrace/loaders/audio/resample.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numbers>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

struct Package {
  std::string_view name;
  std::string_view sha256;
  std::string_view folder;  ///< of the sounds
};

constexpr std::array<Package, 5> speech{{
    {"asterisk-core-sounds-en-wav",
     "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d",
     "usr/share/asterisk/sounds/en_US_f_Allison"},
    {"asterisk-core-sounds-es-wav",
     "9283a09a6d56fccdcc2bcfe86c48f0f844289cfbd46a3184d8785a6f7f569903",
     "usr/share/asterisk/sounds/es_MX_f_Allison"},
    {"asterisk-core-sounds-fr-wav",
     "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e",
     "usr/share/asterisk/sounds/fr_CA_f_June"},
    {"asterisk-core-sounds-it-wav",
     "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb",
     "usr/share/asterisk/sounds/it_IT_m_Carlo"},
    {"asterisk-core-sounds-ru-wav",
     "ccbfaebfa450b7a9ddf644ae0f3d1e9017d5df7c0aebe816e946345589d38201",
     "usr/share/asterisk/sounds/ru_RU_f_IvrvoiceRU"},
}};

constexpr Package music{"asterisk-moh-opsound-wav",
                        "8f9d808a729d305c2d3343993f21ca5e6829e411682618dc8ea7aa8bc24a566c",
                        "usr/share/asterisk/moh"};

LeakSplit split_of_track(const std::string& name) {
  if (name.starts_with("reno_project")) return LeakSplit::testing;
  return name.starts_with("manolo_camp") ? LeakSplit::validation : LeakSplit::training;
}

LeakSplit split_of_path(std::string_view path) {
  const std::uint64_t part = (hash_name(path) >> 20) % 20;
  if (part >= 17) return LeakSplit::testing;
  return part >= 14 ? LeakSplit::validation : LeakSplit::training;
}

std::vector<fs::path> wave_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool silent = entry.path().parent_path().filename() == "silence";
    if (entry.path().extension() == ".wav" && entry.is_regular_file() && !silent) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

LeakSounds debian_leak_sounds(const std::function<void(std::string_view)>& say) {
  LeakSounds found{.digest = "Asterisk"};
  for (const Package& package : speech) {
    const fs::path root = debian_package(package.name, package.sha256, say) / package.folder;
    for (const fs::path& file : wave_files(root)) {
      const std::string path = file.lexically_relative(root.parent_path()).string();
      found.sounds.push_back({file, root.filename().string(), split_of_path(path)});
    }
    found.digest += fmt::format(" {}", package.sha256.substr(0, 8));
  }
  const fs::path root = debian_package(music.name, music.sha256, say) / music.folder;
  for (const fs::path& file : wave_files(root)) {
    const std::string track = file.stem().string();
    found.sounds.push_back({file, track, split_of_track(track)});
  }
  found.digest += fmt::format(" {}", music.sha256.substr(0, 8));
  return found;
}

LeakSounds folder_leak_sounds(const fs::path& folder) {
  const AudioFolder listed(folder);
  LeakSounds found;
  std::uint64_t digest = 0;
  for (std::int64_t i = 0; i < listed.size(); ++i) {
    const std::string path = listed.origin(i);
    found.sounds.push_back({folder / path, path.substr(0, path.find('/')), split_of_path(path)});
    digest = hash_name(fmt::format("{} {} {}", digest, path, listed.working_bytes(i)));
  }
  found.digest = fmt::format("folder {:016x}", digest);
  return found;
}

std::string_view debian_leak_attribution() {
  return "The recordings beside this file were made from the sounds of these Debian packages by\n"
         "cutting, joining, resampling and adding noise. Who passes them on names the authors and\n"
         "keeps the licences:\n"
         "- asterisk-core-sounds-en-wav, -es-wav: Allison Smith, CC-BY-SA-3.0\n"
         "- asterisk-core-sounds-fr-wav: June Wallack, CC-BY-SA-3.0\n"
         "- asterisk-core-sounds-it-wav: Carlo Flora, CC-BY-3.0\n"
         "- asterisk-core-sounds-ru-wav: Maxim (ivrvoice.ru), CC-BY-3.0\n"
         "- asterisk-moh-opsound-wav: Paul Shuler (Macroform), Manolo Camp, Reno Project,\n"
         "  CC-BY-SA-3.0\n";
}

namespace {

constexpr double lowest_hz = 300.0;
constexpr double highest_hz = 1500.0;
constexpr double hiss = 1e-3;
constexpr double quietest_db = -12.0;
constexpr std::int64_t reach = 64;  ///< of the noise's filter, either way

/// Decodes files and brings them to the job's rate; keeps the filters of a rate.
class Reader {
 public:
  void append(const std::filesystem::path& path, std::vector<float>& to) {
    try {
      const std::vector<std::byte> file = read_whole_file(path, "prepare");
      AudioDecoder decoder(file);
      std::vector<float> samples(static_cast<std::size_t>(decoder.header().frames));
      decoder.read(0, samples);
      const Resampler& rates = resampler(decoder.header().sample_rate);
      const std::size_t before = to.size();
      to.resize(before +
                static_cast<std::size_t>(rates.samples(static_cast<std::int64_t>(samples.size()))));
      rates.run(samples, std::span(to).subspan(before));
    } catch (const Error& error) {
      throw DataError(fmt::format("[prepare] {}: {}", path.string(), error.what()));
    }
  }

 private:
  const Resampler& resampler(int rate) {
    auto& known = resamplers_[rate];
    if (!known) known = std::make_unique<Resampler>(rate, leak_sample_rate);
    return *known;
  }

  std::map<int, std::unique_ptr<Resampler>> resamplers_;
};

/// The split's sounds by voice; within a voice in an order that has nothing to do with content.
std::map<std::string, std::vector<std::filesystem::path>> by_voice(const LeakSounds& sounds,
                                                                   LeakSplit split) {
  std::map<std::string, std::vector<std::filesystem::path>> voices;
  for (const LeakSound& sound : sounds.sounds) {
    if (sound.split == split) voices[sound.voice].push_back(sound.file);
  }
  for (auto& [voice, files] : voices) {
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      const std::string left = a.filename().string();
      const std::string right = b.filename().string();
      return std::pair(hash_name(left), a) < std::pair(hash_name(right), b);
    });
  }
  return voices;
}

/// A band-pass by a windowed sinc.
std::vector<float> band_filter() {
  const auto low_pass = [](double hz, std::int64_t k) {
    const double cut = 2.0 * hz / leak_sample_rate;
    if (k == 0) return cut;
    const double angle = std::numbers::pi * static_cast<double>(k);
    return std::sin(cut * angle) / angle;
  };
  std::vector<float> taps;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    const double edge =
        std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(2 * reach + 2));
    taps.push_back(
        static_cast<float>((low_pass(highest_hz, k) - low_pass(lowest_hz, k)) * edge * edge));
  }
  return taps;
}

double rms(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values)
    sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<float> band_noise(std::size_t count, Random& random) {
  static const std::vector<float> taps = band_filter();
  std::vector<float> white(count + taps.size() - 1);
  for (float& value : white)
    value = static_cast<float>(random.normal());
  std::vector<float> noise(count);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < taps.size(); ++k)
      sum += taps[k] * white[i + k];
    noise[i] = sum;
  }
  return noise;
}

double factor(double decibels) {
  return std::pow(10.0, decibels / 20.0);
}

}  // namespace

LeakBackgrounds::LeakBackgrounds(const LeakSounds& sounds, LeakSplit split, const LeakMix& mix)
    : split_(split), mix_(mix) {
  Reader reader;
  const auto length = static_cast<std::size_t>(leak_recording_samples);
  const auto hop = static_cast<std::size_t>(std::max(1.0, mix.hop_s * leak_sample_rate));
  for (const auto& [voice, files] : by_voice(sounds, split)) {
    const std::size_t first = samples_.size();
    for (const std::filesystem::path& file : files)
      reader.append(file, samples_);
    for (std::size_t start = first; start + length <= samples_.size(); start += hop)
      starts_.push_back(start);
  }
}

void LeakBackgrounds::make(std::int64_t recording, std::span<std::int16_t> out) const {
  Random random({.seed = mix_.seed,
                 .loader = hash_name("prepare leak"),
                 .epoch = static_cast<std::int64_t>(split_),
                 .position = recording});
  const double level = factor(random.uniform(quietest_db, 0.0));
  const double below = random.uniform(mix_.lowest_snr, mix_.highest_snr);
  const float* from = samples_.data() + starts_[static_cast<std::size_t>(recording)];
  std::vector<float> mixed(out.size());
  for (std::size_t i = 0; i < mixed.size(); ++i)
    mixed[i] = static_cast<float>(level * double{from[i]} + hiss * random.normal());
  if (has_leak(recording)) {
    const std::vector<float> noise = band_noise(mixed.size(), random);
    const auto scale = static_cast<float>(rms(mixed) / rms(noise) * factor(-below));
    for (std::size_t i = 0; i < mixed.size(); ++i)
      mixed[i] += scale * noise[i];
  }
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const float value = std::clamp(mixed[i] * 32768.0F, -32768.0F, 32767.0F);
    out[i] = static_cast<std::int16_t>(std::lrint(value));
  }
}

}  // namespace headrace::inline v1::app
