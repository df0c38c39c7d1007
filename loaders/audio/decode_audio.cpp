#include <headrace/engine/base/error.h>
#include <headrace/loaders/audio/decode_audio.h>
#include <headrace/loaders/audio/resample.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace headrace::inline v1 {
namespace {

/// The filters of the last pair of rates that this thread met: files of a set mostly share one.
const Resampler& resampler(std::int64_t from, std::int64_t to) {
  struct Known {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::unique_ptr<Resampler> filters;
  };
  thread_local Known known;
  if (known.from != from || known.to != to) {
    try {
      known = {from, to, std::make_unique<Resampler>(from, to)};
    } catch (const ConfigError& error) {
      throw DataError(error.what());
    }
  }
  return *known.filters;
}

std::int64_t place_of(DecodeAudio::Piece piece, std::int64_t room, Random& random) {
  // One draw whatever the length, so that later draws do not depend on it.
  const std::int64_t drawn = piece == DecodeAudio::Piece::random ? random.below(room + 1) : 0;
  return piece == DecodeAudio::Piece::middle ? room / 2 : drawn;
}

}  // namespace

Schema DecodeAudio::schema(const Schema& in) const {
  const FieldSpec& bytes = in.at(input, name());
  if (bytes.dtype != DType::uint8 || bytes.shape.rank() != 1) {
    throw ConfigError("[decode audio] field \"" + input +
                      "\" must hold the bytes of a file, uint8 [n], got " + to_string(bytes));
  }
  if (samples < 1 || samples > limits.frames || sample_rate < limits.lowest_rate ||
      sample_rate > limits.highest_rate) {
    throw ConfigError("[decode audio] samples and sample_rate must lie in [1, " +
                      std::to_string(limits.frames) + "] and [" +
                      std::to_string(limits.lowest_rate) + ", " +
                      std::to_string(limits.highest_rate) + "], got " + std::to_string(samples) +
                      " and " + std::to_string(sample_rate));
  }
  Schema out = in;
  out.remove(input);
  out.put(FieldSpec::fixed(output, DType::float32, Shape{samples}));
  out.put(FieldSpec::fixed(output + "_length", DType::int64, Shape{}));
  return out;
}

std::size_t DecodeAudio::working_bytes(const Schema&) const {
  const auto wanted = static_cast<std::size_t>(samples);
  return (wanted + wanted * static_cast<std::size_t>(limits.highest_rate) /
                       static_cast<std::size_t>(sample_rate)) *
         sizeof(float);
}

void DecodeAudio::operator()(Sample& sample, Random& random) const {
  const Tensor bytes = sample[input];
  AudioDecoder decoder(bytes.as_bytes(), limits);
  const AudioHeader& header = decoder.header();
  const Resampler& rates = resampler(header.sample_rate, sample_rate);

  // As few input samples as give the wanted number.
  const std::int64_t enough =
      (samples * header.sample_rate + sample_rate - 1) / std::int64_t{sample_rate};
  const std::int64_t taken = std::min(enough, header.frames);
  thread_local std::vector<float> piece_samples;
  thread_local std::vector<float> resampled;
  piece_samples.resize(static_cast<std::size_t>(taken));
  decoder.read(place_of(piece, header.frames - taken, random), piece_samples);
  resampled.resize(static_cast<std::size_t>(rates.samples(taken)));
  rates.run(piece_samples, resampled);

  const auto sound = std::min<std::int64_t>(samples, static_cast<std::int64_t>(resampled.size()));
  float* out = sample.make(output, DType::float32, Shape{samples}).data<float>();
  std::copy_n(resampled.begin(), sound, out);
  std::fill(out + sound, out + samples, 0.0F);
  sample.set_scalar<std::int64_t>(output + "_length", sound);
  sample.remove(input);
}

}  // namespace headrace::inline v1
