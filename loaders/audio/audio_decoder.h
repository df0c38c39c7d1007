#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// What a file of sound may claim before memory is taken for it.
struct AudioLimits {
  std::int64_t frames = 256LL << 20;  ///< samples of a channel
  int channels = 16;
  int lowest_rate = 100;  ///< Hz
  int highest_rate = 768'000;
};

/// What the header of a file says.
struct AudioHeader {
  std::int64_t frames = 0;
  int channels = 0;
  int sample_rate = 0;
};

/// WAV, FLAC or Ogg (Vorbis, Opus) in memory, decoded by libsndfile. Files are not trusted: other
/// formats, claims beyond the limits, ends that come too early and samples that are no numbers are
/// a DataError. One thread at a time; the bytes outlive the decoder.
class HEADRACE_API AudioDecoder {
 public:
  /// Reads the header. Throws DataError.
  explicit AudioDecoder(std::span<const std::byte> file, const AudioLimits& limits = {});
  ~AudioDecoder();
  AudioDecoder(const AudioDecoder&) = delete;
  AudioDecoder& operator=(const AudioDecoder&) = delete;

  const AudioHeader& header() const noexcept { return header_; }
  /// Samples [first, first + out.size()) in [-1, 1], the mean of all channels. Throws DataError for
  /// a place outside and for a file that ends before.
  void read(std::int64_t first, std::span<float> out);

 private:
  struct File;
  std::unique_ptr<File> file_;
  AudioHeader header_;
  std::vector<float> block_;
};

}  // namespace headrace::inline v1
