#include <headrace/tests/fuzz/seeds.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include <sndfile.h>

namespace headrace::test {
namespace {

struct Sound {
  const char* name;
  int format;
  int rate;
  int channels;
};

/// A tenth of a second or so of a tone, as libsndfile writes it.
StoredInput written(const std::filesystem::path& path, const Sound& sound) {
  std::vector<float> samples(static_cast<std::size_t>(sound.channels) * 600);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = 0.5F * std::sin(0.05F * static_cast<float>(i));
  SF_INFO info{};
  info.samplerate = sound.rate;
  info.channels = sound.channels;
  info.format = sound.format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw std::runtime_error(std::string(sound.name) + ": no such sound");
  sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size()));
  sf_close(file);
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return {sound.name, bytes_of(text)};
}

}  // namespace

std::vector<StoredInput> audio_seeds() {
  constexpr std::array<Sound, 12> sounds{
      {{"WAV 16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16'000, 1},
       {"WAV 24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 8'000, 2},
       {"WAV float", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 8'000, 1},
       {"WAV double", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 8'000, 1},
       {"WAV u-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 8'000, 1},
       {"WAV IMA", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 8'000, 1},
       {"WAV MS", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, 8'000, 1},
       {"WAV GSM", SF_FORMAT_WAV | SF_FORMAT_GSM610, 8'000, 1},
       {"WAV extensible", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 8'000, 2},
       {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16'000, 1},
       {"Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 8'000, 1},
       {"Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 16'000, 1}}};
  const TemporaryFolder folder;
  std::vector<StoredInput> inputs;
  for (const Sound& sound : sounds)
    inputs.push_back(written(folder / "sound", sound));
  return inputs;
}

}  // namespace headrace::test
