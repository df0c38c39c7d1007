#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/audio/audio_decoder.h>
#include <headrace/loaders/audio/audio_folder.h>
#include <headrace/loaders/audio/decode_audio.h>
#include <headrace/loaders/audio/resample.h>
#include <headrace/tests/augment/reference/audio_reference.inc>
#include <headrace/tests/augment/waves.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sndfile.h>

using namespace headrace;

namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A file that libsndfile wrote: `values` frame by frame.
std::vector<std::byte> written(const fs::path& path, int format, int rate, int channels,
                               const std::vector<float>& values) {
  SF_INFO info{};
  info.samplerate = rate;
  info.channels = channels;
  info.format = format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  REQUIRE(file != nullptr);
  const auto count = static_cast<sf_count_t>(values.size());
  REQUIRE(sf_write_float(file, values.data(), count) == count);
  sf_close(file);
  return bytes_of(path);
}

std::string refusal(const std::vector<std::byte>& file, const AudioLimits& limits = {}) {
  try {
    AudioDecoder decoder(file, limits);
    std::vector<float> all(static_cast<std::size_t>(decoder.header().frames));
    decoder.read(0, all);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

void put32(std::vector<std::byte>& file, std::size_t at, std::uint32_t value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

template <std::size_t kCount>
void check_resampled(std::int64_t from, std::int64_t to, std::size_t count,
                     const float (&wanted)[kCount]) {
  const Resampler resampler(from, to);
  const std::vector<float> wave = test::wave(count);
  REQUIRE(resampler.samples(static_cast<std::int64_t>(count)) == kCount);
  std::vector<float> made(kCount);
  resampler.run(wave, made);
  for (std::size_t i = 0; i < kCount; ++i)
    REQUIRE(std::abs(made[i] - wanted[i]) < 2e-5F);
}

}  // namespace

TEST_CASE("resampling gives torchaudio's values") {
  check_resampled(8000, 4096, 400, resampled_8000_4096);
  check_resampled(4096, 16000, 60, resampled_4096_16000);
  const std::vector<float> wave = test::wave(50);
  std::vector<float> same(50);
  Resampler(44100, 44100).run(wave, same);
  CHECK(same == wave);
  CHECK_THROWS_AS(Resampler(0, 8000), ConfigError);
  CHECK_THROWS_AS(Resampler(999983, 999979), ConfigError);
}

TEST_CASE("WAV, FLAC and Ogg give their samples, many channels their mean") {
  const test::TemporaryFolder folder;
  const std::vector<float> wave = test::wave(9000);
  const struct {
    const char* name;
    int format;
    float off;
  } kinds[] = {{"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 2.0F / 32768},
               {"b.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0.0F},
               {"c.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 4.0F / 8388608},
               {"d.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.5F}};
  for (const auto& kind : kinds) {
    CAPTURE(kind.name);
    const auto file = written(folder / kind.name, kind.format, 8000, 1, wave);
    AudioDecoder decoder(file);
    CHECK(decoder.header().frames == 9000);
    CHECK(decoder.header().sample_rate == 8000);
    std::vector<float> all(9000);
    decoder.read(0, all);
    double sum = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(std::abs(all[i] - wave[i]) <= kind.off);
      sum += std::abs(double{all[i]} - wave[i]);
    }
    CHECK(sum / 9000 < 0.05);
    std::vector<float> piece(100);
    decoder.read(5000, piece);
    for (std::size_t i = 0; i < piece.size(); ++i)
      REQUIRE(std::abs(piece[i] - all[5000 + i]) < 1e-3F);
    CHECK_THROWS_AS(decoder.read(8901, piece), DataError);
  }
  std::vector<float> stereo;
  for (const float value : wave) {
    stereo.push_back(value);
    stereo.push_back(0.5F);
  }
  const auto two = written(folder / "two.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, stereo);
  AudioDecoder decoder(two);
  CHECK(decoder.header().channels == 2);
  std::vector<float> mean(9000);
  decoder.read(0, mean);
  for (std::size_t i = 0; i < mean.size(); ++i)
    REQUIRE(mean[i] == doctest::Approx((wave[i] + 0.5F) / 2));
}

TEST_CASE("files that lie, break off or are something else are refused with a reason") {
  const test::TemporaryFolder folder;
  const std::vector<float> wave = test::wave(4000);
  const auto wav = written(folder / "a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, wave);
  REQUIRE(refusal(wav).empty());
  CHECK(refusal({}).find("WAV, FLAC or Ogg") != std::string::npos);
  std::vector<std::byte> text(5000, std::byte{'x'});
  CHECK(refusal(text).find("WAV, FLAC or Ogg") != std::string::npos);
  auto cut = wav;
  cut.resize(5000);
  CHECK(refusal(cut).find("ends after 5000") != std::string::npos);
  CHECK(refusal(wav, {.frames = 3999}).find("claims 4000") != std::string::npos);
  CHECK(refusal(wav, {.lowest_rate = 9000}).find("claims 8000") != std::string::npos);
  auto fast = wav;
  put32(fast, 24, 4'000'000'000U);
  CHECK(!refusal(fast).empty());
  auto many = wav;
  many[22] = std::byte{0xff};
  CHECK(!refusal(many).empty());
  std::vector<float> bad = wave;
  bad[77] = std::numeric_limits<float>::quiet_NaN();
  const auto hole = written(folder / "nan.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 8000, 1, bad);
  CHECK(refusal(hole).find("sample 77") != std::string::npos);
  auto flac = written(folder / "a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 8000, 1, wave);
  REQUIRE(refusal(flac).empty());
  flac.resize(flac.size() / 2);
  CHECK(!refusal(flac).empty());
}

TEST_CASE("no cut and no flipped byte of a file does more than throw a DataError") {
  const test::TemporaryFolder folder;
  const std::vector<float> wave = test::wave(1000);
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
    const auto file = written(folder / "file", format, 8000, 1, wave);
    for (std::size_t at = 0; at < file.size(); at += 7) {
      auto cut = file;
      cut.resize(at);
      refusal(cut, {.frames = 1 << 20});
      auto flipped = file;
      flipped[at] ^= std::byte{0xff};
      refusal(flipped, {.frames = 1 << 20});
    }
  }
}

TEST_CASE("a folder of sounds becomes waveforms of one rate and length") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "speech");
  fs::create_directories(folder / "music" / "deep");
  written(folder / "speech" / "a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, test::wave(8000));
  written(folder / "music" / "deep" / "b.FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 4096, 1,
          test::wave(1000));
  std::ofstream(folder / "music" / "notes.txt") << "no sound";
  const AudioFolder sounds(folder / "");
  CHECK(sounds.size() == 2);
  CHECK(sounds.classes() == std::vector<std::string>{"music", "speech"});
  CHECK(sounds.origin(0) == "music/deep/b.FLAC");
  auto loader = Pipeline::from(AudioFolder(folder / ""))
                    .then(DecodeAudio{
                        .sample_rate = 4096, .samples = 2048, .piece = DecodeAudio::Piece::start})
                    .batch({.size = 2})
                    .build();
  for (const Batch& batch : loader.epoch(0)) {
    CHECK(batch["waveform"].shape() == Shape{2, 2048});
    const auto lengths = batch["waveform_length"];
    CHECK(lengths.values<std::int64_t>()[0] == 1000);
    CHECK(lengths.values<std::int64_t>()[1] == 2048);
    CHECK(batch["label"].values<std::int64_t>()[1] == 1);
    const auto waves = batch["waveform"];
    CHECK(std::abs(waves.values<float>()[500] - test::wave(501)[500]) < 1e-4F);
    CHECK(waves.values<float>()[1000] == 0.0F);
    // From 8000 Hz, away from the ends of the piece, where torchaudio's longer input shows.
    for (std::size_t i = 20; i < 180; ++i)
      REQUIRE(std::abs(waves.values<float>()[2048 + i] - resampled_8000_4096[i]) < 1e-4F);
  }
  CHECK_THROWS_AS(AudioFolder(folder / "nowhere"), ConfigError);
  fs::create_directories(folder / "silence");
  CHECK_THROWS_WITH_AS(AudioFolder(folder / ""),
                       doctest::Contains("silence: class folder must hold a sound, got none"),
                       ConfigError);
  fs::remove(folder / "silence");
  CHECK_THROWS_AS(AudioFolder(folder / "", 100), ConfigError);
  fs::create_symlink("/etc/passwd", folder / "music" / "link.wav");
  CHECK_THROWS_AS(AudioFolder(folder / ""), ConfigError);
}

TEST_CASE("a random piece is drawn from the whole sound, the same for the same key") {
  const test::TemporaryFolder folder;
  std::vector<float> ramp;
  for (int i = 0; i < 5000; ++i)
    ramp.push_back(static_cast<float>(i) / 8192.0F);
  const auto file = written(folder / "r.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 8000, 1, ramp);
  const DecodeAudio op{.sample_rate = 8000, .samples = 100};
  const auto first_of = [&](std::int64_t position) {
    Sample sample;
    sample.set("audio", Tensor::borrow(const_cast<std::byte*>(file.data()), DType::uint8,
                                       Shape{static_cast<std::int64_t>(file.size())}));
    Random random({.position = position});
    op(sample, random);
    return static_cast<int>(sample["waveform"].values<float>()[0] * 8192.0F);
  };
  int lowest = 5000;
  int highest = 0;
  for (std::int64_t position = 0; position < 200; ++position) {
    const int first = first_of(position);
    CHECK(first == first_of(position));
    lowest = std::min(lowest, first);
    highest = std::max(highest, first);
  }
  CHECK(lowest < 200);
  CHECK(highest > 4700);
  CHECK(highest <= 4900);
}
