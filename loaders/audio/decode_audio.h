#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/audio/audio_decoder.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Decodes the bytes of a sound file (WAV, FLAC, Ogg) into one channel, float32 [samples], at a
/// given rate: takes a piece of the wanted length, then resamples it. Sounds that are shorter are
/// followed by silence. How many samples are sound goes into int64 "<output>_length".
struct HEADRACE_API DecodeAudio {
  static constexpr bool decodes = true;

  enum class Piece : unsigned char { start, middle, random };

  int sample_rate = 16'000;        ///< Hz, of the output
  std::int64_t samples = 160'000;  ///< of the output
  Piece piece = Piece::random;
  AudioLimits limits{};
  std::string input = "audio";  ///< uint8, the bytes of the file
  std::string output = "waveform";

  std::string name() const { return "decode audio"; }
  /// Throws ConfigError for a field that holds no bytes and lengths or rates that cannot be.
  Schema schema(const Schema& in) const;
  /// The piece before and after resampling, from the highest rate that is let through.
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for files that cannot be decoded or break the limits.
  void operator()(Sample& sample, Random& random) const;
};

}  // namespace headrace::inline v1
