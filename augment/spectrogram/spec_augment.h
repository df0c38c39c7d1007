#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// SpecAugment (Park et al., "SpecAugment: A Simple Data Augmentation Method for Automatic Speech
/// Recognition", 2019) on spectrograms float32, float16 or bfloat16 [..., bins, frames]: time warp,
/// then frequency masks, then time masks, drawn for each sample; the axes before the last two share
/// them. The warp, the masks and the copy into the batch are one pass.
///
/// Before batch() it does all of it on the host. For a batch on a device, `DrawSpecAugment` before
/// batch() draws, and `ApplySpecAugment` after it applies, to the same values.
struct HEADRACE_API SpecAugment {
  /// How a mask is drawn on an axis of n cells of which it may take `most`.
  enum class Rule : unsigned char {
    /// The paper's: width uniform in {0..most}, start uniform in {0..n - width}.
    paper,
    /// torchaudio's `mask_along_axis_iid`: v = most * u, start floor((n - v) * u'), width floor(v),
    /// u and u' uniform in [0, 1): never `most` wide and never on the last cell. Drawn for each
    /// plane of the leading axes.
    torchaudio,
  };
  enum class Layout : unsigned char {
    frequency_first,  ///< [..., bins, frames]
    time_first,       ///< [..., frames, bins]
  };

  /// Largest way W, in frames, that a point of time may be moved; 0: no warp. A point c, uniform in
  /// {W + 1 .. frames - W - 1}, moves to c + w, w uniform in {-W .. W}; both ends stay, and frames
  /// between are interpolated linearly. With 2 W + 1 frames or fewer nothing is warped.
  std::int64_t time_warp = 0;
  int frequency_masks = 0;
  std::int64_t frequency_width = 0;  ///< widest frequency mask, in bins
  int time_masks = 0;
  std::int64_t time_width = 0;  ///< widest time mask, in frames
  /// No time mask is wider than floor(time_share * frames).
  double time_share = 1.0;
  /// Samples of fewer frames get no time mask.
  std::int64_t smallest_frames = 0;
  /// The cap of time_share is at least one frame.
  bool at_least_one_frame = false;
  Rule rule = Rule::paper;
  /// What masked cells become: one value, or one for each bin. For spectrograms in decibels the
  /// mean of the data set, as 0 is the loudest.
  std::vector<float> fill = {0.0F};
  Layout layout = Layout::frequency_first;
  std::string field = "spectrogram";
  /// Integer field with the number of frames that are sound and not padding; the rest is left as it
  /// is. int64 or int32 []. Empty: all are.
  std::string length{};

  /// The paper's LB, LD (LibriSpeech basic, double), SM and SS (Switchboard mild, strong). Throws
  /// ConfigError for another name.
  static SpecAugment policy(std::string_view name);
  /// For spectrograms of few frames: one mask on each axis, at most a sixth of the bins and a
  /// quarter of the frames wide (but one frame), none in time below four frames.
  static SpecAugment few_frames(std::int64_t bins);

  std::string name() const { return "spec augment"; }
  /// Throws ConfigError for fields that are no spectrograms and parameters that do not fit.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for a sample that is no spectrogram or whose length does not fit.
  void operator()(Sample& sample, Random& random) const;
};

/// Draws what SpecAugment would, with the same values from the same random draws, into int32 field
/// "<field>_masks" [planes, 3 + 2 * masks]: frames, warp's point, where it goes, then start and
/// width of each frequency mask and each time mask.
struct HEADRACE_API DrawSpecAugment {
  SpecAugment augment{};
  /// Of spectrograms that the samples do not hold, since their batch is made on the device (see
  /// DeviceTable); of rank 0: the samples hold them.
  Shape shape{};

  std::string name() const { return augment.name(); }
  /// Throws ConfigError as SpecAugment does.
  Schema schema(const Schema& in) const;
  /// Throws DataError as SpecAugment does.
  void operator()(Sample& sample, Random& random) const;
};

/// Applies what DrawSpecAugment drew to a batch, where the batch is: in place without a warp, else
/// into memory of the batch. `augment` is the same as the draw's. On a device it is one kernel.
struct HEADRACE_API ApplySpecAugment {
  SpecAugment augment{};

  std::string name() const { return augment.name(); }
  /// Throws ConfigError as SpecAugment does, and without the field that DrawSpecAugment makes.
  Schema schema(const Schema& in) const;
  /// Throws PipelineError for fields that do not fit.
  void operator()(Batch& batch, Stream stream) const;
};

/// All of SpecAugment on a batch in host memory, its masks drawn there too. For sources that gather
/// many small spectrograms at once: with no step on samples they still do. A row's masks belong to
/// (seed, epoch, its global position), so threads, batch sizes and ranks do not change them; they
/// are not those that the operation on samples draws.
struct HEADRACE_API SpecAugmentBatch {
  SpecAugment augment{};
  std::uint64_t seed = 0;

  std::string name() const { return augment.name(); }
  /// Throws ConfigError as SpecAugment does.
  Schema schema(const Schema& in) const;
  /// Throws PipelineError for fields that do not fit and for a batch on a device.
  void operator()(Batch& batch, Stream stream) const;
};

}  // namespace headrace::inline v1
