#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/augment/spectrogram/spec_augment.h>

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

namespace {

/// The defaults suit spectrograms of few frames.
struct Masks {
  std::int64_t time_warp = 0;
  int frequency_masks = 1;
  std::int64_t frequency_width = 10;
  int time_masks = 1;
  std::optional<std::int64_t> time_width{};
  double time_share = 0.25;
  std::int64_t smallest_frames = 4;
  bool at_least_one_frame = true;
  SpecAugment::Rule rule = SpecAugment::Rule::paper;
  std::optional<double> fill{};
};

constexpr std::int64_t any_width = 1LL << 30;

void describe(Fields& fields, Masks& masks) {
  const auto count = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .min = 0.0, .max = 32.0};
  };
  const auto cells = [](std::string doc, std::string unit) {
    return KeyOptions{
        .doc = std::move(doc), .unit = std::move(unit), .min = 0.0, .max = double{any_width}};
  };
  fields.key("time_warp", masks.time_warp,
             cells("most that a point of time is moved; 0: no warp", "frames"));
  fields.key("frequency_masks", masks.frequency_masks, count("of a sample"));
  fields.key("frequency_width", masks.frequency_width, cells("widest", "bins"));
  fields.key("time_masks", masks.time_masks, count("of a sample"));
  fields.key("time_width", masks.time_width,
             cells("widest; null: time_share alone says", "frames"));
  fields.key("time_share", masks.time_share,
             {.doc = "widest, as a share of the frames", .min = 0.0, .max = 1.0});
  fields.key("smallest_frames", masks.smallest_frames,
             cells("shorter samples get no time mask", "frames"));
  fields.key("at_least_one_frame", masks.at_least_one_frame,
             {.doc = "time_share never allows less"});
  fields.choice(
      "rule", masks.rule,
      {{"paper", SpecAugment::Rule::paper}, {"torchaudio", SpecAugment::Rule::torchaudio}},
      {.doc = "how a mask is drawn"});
  fields.key("fill", masks.fill, {.doc = "of masked cells; null: the training data's mean"});
}

SpecAugment operation_of(const Masks& masks, const AugmentBuilder& builder) {
  const std::optional<double> fill = masks.fill ? masks.fill : builder.context().mean;
  if (!fill) {
    throw ConfigError(
        "needs a fill, as the mean of these spectrograms is not known; write spec_augment: {fill: "
        "-40} (0 is the loudest where they are in decibels)");
  }
  return {.time_warp = masks.time_warp,
          .frequency_masks = masks.frequency_masks,
          .frequency_width = masks.frequency_width,
          .time_masks = masks.time_masks,
          .time_width = masks.time_width.value_or(any_width),
          .time_share = masks.time_share,
          .smallest_frames = masks.smallest_frames,
          .at_least_one_frame = masks.at_least_one_frame,
          .rule = masks.rule,
          .fill = {static_cast<float>(*fill)},
          .field = builder.spectrogram()};
}

/// In one pass over samples; for a device the draws travel with the batch; in host memory a batch
/// that was gathered is masked whole.
void add_spec_augment(const Masks& masks, AugmentBuilder& builder) {
  const SpecAugment op = operation_of(masks, builder);
  const AugmentContext& context = builder.context();
  if (context.device.is_cuda()) {
    const Shape unseen = context.in_table ? builder.fields().at(op.field).shape : Shape{};
    builder.draws_on_samples(DrawSpecAugment{.augment = op, .shape = unseen});
    builder.on_batches(ApplySpecAugment{op});
  } else if (context.in_table || (context.gathers && builder.nothing_on_samples())) {
    builder.on_batches(SpecAugmentBatch{.augment = op, .seed = context.seed});
  } else {
    builder.on_samples(op);
  }
}

}  // namespace

AugmentRow spec_augment() {
  return augment_row<Masks>(
      {.name = "spec_augment",
       .doc = "SpecAugment: time warp, frequency masks and time masks of a spectrogram",
       .on = AugmentOn::either},
      describe, add_spec_augment);
}

}  // namespace headrace::inline v1::app::operations
