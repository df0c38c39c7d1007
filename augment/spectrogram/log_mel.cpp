#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include <kissfft/kiss_fftr.h>

namespace headrace::inline v1 {
namespace {

constexpr int largest_transform = 1 << 20;

/// Empty when the parameters fit each other, else the rule and what came.
std::string fault(const LogMelOptions& options) {
  const double half = options.sample_rate / 2.0;
  const double highest = options.highest > 0.0 ? options.highest : half;
  if (!(options.sample_rate > 0.0) || !std::isfinite(options.sample_rate)) {
    return "sample_rate must be positive, got " + std::to_string(options.sample_rate);
  }
  if (options.transform < 2 || options.transform % 2 != 0 ||
      options.transform > largest_transform) {
    return "transform must be even and in [2, 2^20], got " + std::to_string(options.transform);
  }
  if (options.window < 0 || options.window > options.transform) {
    return "window must lie in [0, transform = " + std::to_string(options.transform) + "], got " +
           std::to_string(options.window);
  }
  if (options.hop < 1 || options.bins < 1 || options.bins > options.transform) {
    return "hop and bins must be positive and bins at most transform, got " +
           std::to_string(options.hop) + " and " + std::to_string(options.bins);
  }
  if (!(options.lowest >= 0.0 && options.lowest < highest && highest <= half)) {
    return "0 <= lowest < highest <= half the sample rate must hold, got " +
           std::to_string(options.lowest) + " and " + std::to_string(highest);
  }
  if ((options.power != 1 && options.power != 2) || !(options.floor > 0.0)) {
    return "power must be 1 or 2 and floor positive, got " + std::to_string(options.power) +
           " and " + std::to_string(options.floor);
  }
  if (options.dtype != DType::float32 && options.dtype != DType::float16) {
    return "dtype must be float32 or float16, got " + std::string(name_of(options.dtype));
  }
  return "";
}

std::vector<float> hann(const LogMelOptions& options) {
  const int length = options.window > 0 ? options.window : options.transform;
  std::vector<float> window(static_cast<std::size_t>(options.transform), 0.0F);
  const int first = (options.transform - length) / 2;
  for (int i = 0; i < length; ++i) {
    const double phase = 2.0 * std::numbers::pi * i / length;
    window[static_cast<std::size_t>(first + i)] = static_cast<float>(0.5 - 0.5 * std::cos(phase));
  }
  return window;
}

struct FreePlan {
  void operator()(kiss_fftr_cfg plan) const noexcept { kiss_fftr_free(plan); }
};

/// A thread's own memory for transforms of one length: kissfft's real plans hold scratch.
class Transform {
 public:
  static Transform& of_this_thread(int length) {
    thread_local Transform transform;
    transform.prepare(length);
    return transform;
  }

  std::vector<float> samples;
  std::vector<float> magnitudes;

  void run() { kiss_fftr(plan_.get(), samples.data(), spectrum_.data()); }
  const kiss_fft_cpx& operator[](std::size_t k) const { return spectrum_[k]; }

 private:
  void prepare(int length) {
    if (length == length_) return;
    plan_.reset(kiss_fftr_alloc(length, 0, nullptr, nullptr));
    if (!plan_) throw ResourceError("[log mel] no memory for a transform; free some");
    length_ = length;
    samples.resize(static_cast<std::size_t>(length));
    magnitudes.resize(static_cast<std::size_t>(length / 2 + 1));
    spectrum_.resize(magnitudes.size());
  }

  int length_ = 0;
  std::unique_ptr<std::remove_pointer_t<kiss_fftr_cfg>, FreePlan> plan_;
  std::vector<kiss_fft_cpx> spectrum_;
};

float sample_at(const float* from, std::int64_t i) {
  return from[i];
}

float sample_at(const std::int16_t* from, std::int64_t i) {
  return static_cast<float>(from[i]) * 0x1p-15F;
}

std::int64_t reflected(std::int64_t i, std::int64_t samples) {
  if (i < 0) i = -i;
  return i < samples ? i : 2 * (samples - 1) - i;
}

}  // namespace

struct LogMel::Tables {
  std::vector<float> window;
  std::vector<MelFilter> filters;
};

namespace {

/// One waveform to one plane of decibels.
class Plane {
 public:
  Plane(const LogMelOptions& options, const std::vector<float>& window,
        const std::vector<MelFilter>& filters)
      : options_(options),
        window_(window),
        filters_(filters),
        transform_(Transform::of_this_thread(options.transform)) {}

  template <class In, class Out>
  void make(const In* from, std::int64_t samples, std::int64_t frames, Out* to) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      take(from, samples, frame * options_.hop - options_.transform / 2);
      transform_.run();
      measure();
      for (std::size_t bin = 0; bin < filters_.size(); ++bin)
        from_float(decibels(filters_[bin]), to[static_cast<std::int64_t>(bin) * frames + frame]);
    }
  }

 private:
  template <class In>
  void take(const In* from, std::int64_t samples, std::int64_t first) {
    for (std::size_t i = 0; i < window_.size(); ++i) {
      const std::int64_t place = reflected(first + static_cast<std::int64_t>(i), samples);
      transform_.samples[i] = sample_at(from, place) * window_[i];
    }
  }

  void measure() {
    for (std::size_t k = 0; k < transform_.magnitudes.size(); ++k) {
      const kiss_fft_cpx& value = transform_[k];
      const float energy = value.r * value.r + value.i * value.i;
      transform_.magnitudes[k] = options_.power == 2 ? energy : std::sqrt(energy);
    }
  }

  float decibels(const MelFilter& filter) const {
    const float* magnitudes = transform_.magnitudes.data() + filter.first;
    float sum = 0.0F;
    for (std::size_t k = 0; k < filter.weights.size(); ++k)
      sum += filter.weights[k] * magnitudes[k];
    const float least = static_cast<float>(options_.floor);
    return (options_.power == 2 ? 10.0F : 20.0F) * std::log10(std::max(sum, least));
  }

  const LogMelOptions& options_;
  const std::vector<float>& window_;
  const std::vector<MelFilter>& filters_;
  Transform& transform_;
};

std::string shape_fault(const LogMelOptions& options, DType dtype, const Shape& shape) {
  if ((dtype == DType::float32 || dtype == DType::int16) && shape.rank() >= 1) return "";
  return "field \"" + options.waveform + "\" must be float32 or int16 [..., samples], got " +
         std::string(name_of(dtype)) + " " + to_string(shape);
}

std::string length_fault(const LogMelOptions& options, std::int64_t samples) {
  if (samples > options.transform / 2) return "";
  return "a waveform must have more than " + std::to_string(options.transform / 2) +
         " samples to reflect its ends, got " + std::to_string(samples);
}

Shape spectrogram_shape(const LogMelOptions& options, const Shape& waveform, std::int64_t frames) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis + 1 < waveform.rank(); ++axis)
    extents.push_back(waveform[axis]);
  extents.push_back(options.bins);
  extents.push_back(frames);
  return Shape(extents);
}

}  // namespace

LogMel::LogMel(LogMelOptions options) : options_(std::move(options)) {
  const std::string rule = fault(options_);
  if (!rule.empty()) throw ConfigError("[log mel] " + rule);
  tables_ = std::make_shared<const Tables>(Tables{hann(options_), mel_filters(options_)});
}

Schema LogMel::schema(const Schema& in) const {
  const FieldSpec& wave = in.at(options_.waveform, name());
  std::string rule = shape_fault(options_, wave.dtype, wave.shape);
  if (rule.empty() && wave.kind == FieldSpec::Kind::ragged) {
    rule = "field \"" + options_.waveform + "\" must be fixed or padded, got " + to_string(wave);
  }
  if (rule.empty()) rule = length_fault(options_, wave.shape[wave.shape.rank() - 1]);
  if (!rule.empty()) throw ConfigError("[log mel] " + rule);
  const Shape shape =
      spectrogram_shape(options_, wave.shape, frames(wave.shape[wave.shape.rank() - 1]));
  const double silence = (options_.power == 2 ? 10.0 : 20.0) * std::log10(options_.floor);
  const bool fixed = wave.kind == FieldSpec::Kind::fixed;
  Schema out = in;
  if (!options_.keep_waveform) out.remove(options_.waveform);
  out.put(fixed ? FieldSpec::fixed(options_.field, options_.dtype, shape)
                : FieldSpec::padded(options_.field, options_.dtype, shape, silence));
  return out;
}

std::size_t LogMel::working_bytes(const Schema&) const {
  // Samples, magnitudes and spectrum of a transform, and kissfft's plan with its scratch.
  return static_cast<std::size_t>(options_.transform) * 12 * sizeof(float);
}

void LogMel::operator()(Sample& sample) const {
  const Tensor wave = sample[options_.waveform];
  std::string rule = shape_fault(options_, wave.dtype(), wave.shape());
  const std::int64_t samples = rule.empty() ? wave.shape()[wave.shape().rank() - 1] : 0;
  if (rule.empty()) rule = length_fault(options_, samples);
  if (!rule.empty()) throw DataError(rule);
  const std::int64_t count = frames(samples);
  Tensor& out =
      sample.make(options_.field, options_.dtype, spectrogram_shape(options_, wave.shape(), count));
  Plane plane(options_, tables_->window, tables_->filters);
  const std::int64_t cells = count * options_.bins;
  const auto make_all = [&](const auto* from, auto* to) {
    for (std::int64_t p = 0; p < wave.elements() / samples; ++p)
      plane.make(from + p * samples, samples, count, to + p * cells);
  };
  const auto make_from = [&](const auto* from) {
    if (options_.dtype == DType::float16) {
      make_all(from, out.data<float16_t>());
    } else {
      make_all(from, out.data<float>());
    }
  };
  if (wave.dtype() == DType::int16) {
    make_from(wave.data<std::int16_t>());
  } else {
    make_from(wave.data<float>());
  }
  if (!options_.keep_waveform) sample.remove(options_.waveform);
}

}  // namespace headrace::inline v1
