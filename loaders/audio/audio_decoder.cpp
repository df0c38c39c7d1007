#include <headrace/engine/base/error.h>
#include <headrace/loaders/audio/audio_decoder.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include <sndfile.h>

namespace headrace::inline v1 {
namespace {

constexpr std::int64_t block_frames = 4096;

bool starts_with(std::span<const std::byte> file, std::size_t at, std::string_view text) {
  return file.size() >= at + text.size() &&
         std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

/// libsndfile tries every format it knows; only these are let through to it.
void check_format(std::span<const std::byte> file) {
  const bool wav = starts_with(file, 0, "RIFF") && starts_with(file, 8, "WAVE");
  if (!wav && !starts_with(file, 0, "fLaC") && !starts_with(file, 0, "OggS")) {
    throw DataError("sound must be WAV, FLAC or Ogg, got something else");
  }
  if (!wav) return;
  // libsndfile takes a shorter file as it is; a copy that was cut off is not what was meant.
  std::uint32_t announced = 0;
  std::memcpy(&announced, file.data() + 4, sizeof announced);
  constexpr std::uint32_t unknown = 0xffffffffU;  // written by a program that could not seek
  if (announced != unknown && std::uint64_t{announced} + 8 > file.size() + 1) {
    throw DataError("WAV announces " + std::to_string(std::uint64_t{announced} + 8) +
                    " bytes, the file ends after " + std::to_string(file.size()));
  }
}

void check_header(const AudioHeader& header, const AudioLimits& limits) {
  if (header.channels < 1 || header.channels > limits.channels) {
    throw DataError("sound must have 1 to " + std::to_string(limits.channels) +
                    " channels, the file claims " + std::to_string(header.channels));
  }
  if (header.sample_rate < limits.lowest_rate || header.sample_rate > limits.highest_rate) {
    throw DataError("the sample rate must lie in [" + std::to_string(limits.lowest_rate) + ", " +
                    std::to_string(limits.highest_rate) + "] Hz, the file claims " +
                    std::to_string(header.sample_rate));
  }
  if (header.frames < 0 || header.frames > limits.frames) {
    throw DataError("sound may have " + std::to_string(limits.frames) +
                    " samples a channel, the file claims " + std::to_string(header.frames));
  }
}

}  // namespace

/// libsndfile's view of bytes in memory.
struct AudioDecoder::File {
  std::span<const std::byte> bytes;
  sf_count_t place = 0;
  SNDFILE* handle = nullptr;

  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }

  static sf_count_t length(void* user) { return static_cast<File*>(user)->size(); }
  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    auto* file = static_cast<File*>(user);
    const sf_count_t base = whence == SEEK_CUR   ? file->place
                            : whence == SEEK_END ? file->size()
                                                 : 0;
    file->place = std::clamp<sf_count_t>(base + offset, 0, file->size());
    return file->place;
  }
  static sf_count_t read(void* to, sf_count_t count, void* user) {
    auto* file = static_cast<File*>(user);
    const sf_count_t got = std::clamp<sf_count_t>(count, 0, file->size() - file->place);
    std::memcpy(to, file->bytes.data() + file->place, static_cast<std::size_t>(got));
    file->place += got;
    return got;
  }
  static sf_count_t tell(void* user) { return static_cast<File*>(user)->place; }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }

  ~File() {
    if (handle != nullptr) sf_close(handle);
  }
};

AudioDecoder::AudioDecoder(std::span<const std::byte> file, const AudioLimits& limits)
    : file_(std::make_unique<File>()) {
  check_format(file);
  file_->bytes = file;
  SF_VIRTUAL_IO io{.get_filelen = File::length,
                   .seek = File::seek,
                   .read = File::read,
                   .write = File::write,
                   .tell = File::tell};
  SF_INFO info{};
  file_->handle = sf_open_virtual(&io, SFM_READ, &info, file_.get());
  if (file_->handle == nullptr) {
    throw DataError(std::string("sound cannot be decoded: ") + sf_strerror(nullptr));
  }
  header_ = {.frames = info.frames, .channels = info.channels, .sample_rate = info.samplerate};
  check_header(header_, limits);
  block_.resize(static_cast<std::size_t>(block_frames * header_.channels));
}

AudioDecoder::~AudioDecoder() = default;

void AudioDecoder::read(std::int64_t first, std::span<float> out) {
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || count > header_.frames || first > header_.frames - count) {
    throw DataError("samples [" + std::to_string(first) + ", " + std::to_string(first + count) +
                    ") must lie in a sound of " + std::to_string(header_.frames));
  }
  if (count == 0) return;
  if (sf_seek(file_->handle, first, SEEK_SET) != first) {
    throw DataError("sample " + std::to_string(first) + " of " + std::to_string(header_.frames) +
                    " cannot be found; the file is damaged");
  }
  const int channels = header_.channels;
  const float share = 1.0F / static_cast<float>(channels);
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t wanted = std::min(block_frames, count - done);
    const sf_count_t got = sf_readf_float(file_->handle, block_.data(), wanted);
    if (got <= 0) {
      throw DataError("sound announces " + std::to_string(header_.frames) +
                      " samples, the file ends after " + std::to_string(first + done));
    }
    for (std::int64_t i = 0; i < got; ++i) {
      float sum = 0.0F;
      for (int c = 0; c < channels; ++c)
        sum += block_[static_cast<std::size_t>(i * channels + c)];
      const float mean = channels == 1 ? sum : sum * share;
      if (!std::isfinite(mean)) {
        throw DataError("sample " + std::to_string(first + done + i) + " is no number");
      }
      out[static_cast<std::size_t>(done + i)] = mean;
    }
    done += got;
  }
}

}  // namespace headrace::inline v1
