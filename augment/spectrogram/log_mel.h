#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct LogMelOptions {
  double sample_rate = 4096.0;   ///< Hz
  int transform = 512;           ///< samples of a Fourier transform, even
  int window = 0;                ///< samples of the periodic Hann window, centred; 0: transform
  int hop = 128;                 ///< samples from a frame to the next
  int bins = 64;                 ///< mel bins
  double lowest = 0.0;           ///< Hz
  double highest = 0.0;          ///< Hz; 0: half the sample rate
  int power = 1;                 ///< of the magnitude: 1 (20 log10) or 2 (10 log10)
  double floor = 1e-10;          ///< least value under the logarithm
  DType dtype = DType::float32;  ///< float32 or float16
  std::string waveform = "waveform";
  std::string field = "spectrogram";
  bool keep_waveform = false;
};

/// Makes log-mel spectrograms [..., bins, frames] in decibels of waveforms float32 or int16 (of
/// 32768) [..., samples]: frames = 1 + samples / hop, centred on multiples of the hop, the ends
/// reflected; triangles of unit height on the HTK mel scale, as torchaudio's MelSpectrogram with
/// its defaults makes them. Computed in float32 with plain sums: equal bits on every thread and
/// vector width, but for what the C library's log10 gives.
class HEADRACE_API LogMel {
 public:
  /// Throws ConfigError for parameters that do not fit each other, and where a mel bin would lie
  /// between two frequencies of the transform and stay empty.
  explicit LogMel(LogMelOptions options = {});

  std::string name() const { return "log mel"; }
  /// Throws ConfigError for a field that is no waveform, or too short to reflect its ends. A padded
  /// waveform gives a padded spectrogram.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for a sample that is no waveform or too short.
  void operator()(Sample& sample) const;

  /// Frames that a waveform of so many samples gives.
  std::int64_t frames(std::int64_t samples) const { return 1 + samples / options_.hop; }
  const LogMelOptions& options() const noexcept { return options_; }

 private:
  struct Tables;

  LogMelOptions options_;
  std::shared_ptr<const Tables> tables_;
};

/// A bin of a mel filter bank: weights of the frequencies from `first` on.
struct MelFilter {
  std::int64_t first = 0;
  std::vector<float> weights{};
};

/// Triangles on the HTK mel scale over the transform/2 + 1 frequencies of a transform, from
/// `lowest` to `highest` Hz, of height one. Throws ConfigError for an empty one.
HEADRACE_API std::vector<MelFilter> mel_filters(const LogMelOptions& options);

}  // namespace headrace::inline v1
