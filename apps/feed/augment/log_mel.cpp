#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/spectrogram/log_mel.h>

namespace headrace::inline v1::app::operations {

AugmentRow log_mel() {
  return augment_row<LogMelOptions>(
      {.name = "log_mel", .doc = "a log-mel spectrogram of a waveform, in decibels"},
      [](Fields& fields, LogMelOptions& mel) {
        const auto samples = [](std::string doc, double min) {
          return KeyOptions{.doc = std::move(doc), .unit = "samples", .min = min, .max = 1e6};
        };
        fields.key("sample_rate", mel.sample_rate,
                   {.doc = "of the waveform", .unit = "Hz", .above = 0.0});
        fields.key("transform", mel.transform, samples("of a Fourier transform, even", 2.0));
        fields.key("window", mel.window, samples("of the Hann window; 0: transform", 0.0));
        fields.key("hop", mel.hop, samples("from a frame to the next", 1.0));
        fields.key("bins", mel.bins, {.doc = "mel bins", .min = 1.0, .max = 4096.0});
        fields.key("lowest", mel.lowest, {.doc = "frequency", .unit = "Hz", .min = 0.0});
        fields.key("highest", mel.highest,
                   {.doc = "frequency; 0: half the sample rate", .unit = "Hz", .min = 0.0});
        fields.key("power", mel.power, {.doc = "of the magnitude", .min = 1.0, .max = 2.0});
        fields.key("floor", mel.floor, {.doc = "least value under the logarithm", .above = 0.0});
        fields.choice("dtype", mel.dtype,
                      {{"float32", DType::float32}, {"float16", DType::float16}},
                      {.doc = "of the result"});
        fields.key("keep_waveform", mel.keep_waveform, {.doc = "deliver the waveform too"});
      },
      [](LogMelOptions mel, AugmentBuilder& builder) {
        mel.waveform = builder.waveform();
        builder.on_samples(LogMel(mel));
      });
}

}  // namespace headrace::inline v1::app::operations
