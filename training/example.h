#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/training/checkpoint/named_state.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// A batch as a network and its loss take it, on the compute device. May be a view of the batch's
/// memory, which is given back when the example dies.
struct Example {
  TensorMap inputs = {};
  TensorMap targets = {};
  /// `[N]` bool: rows that count; undefined when all do.
  at::Tensor present = {};
  /// What a mean over this example divides by, a scalar: valid voxels, say. Undefined: the rows
  /// that count. Means over several micro-batches weigh each by it.
  at::Tensor weight = {};
  /// How many of `present` are set, where that is known without asking the device.
  std::optional<std::int64_t> rows = {};
  /// Targets are of two samples each (Mixup, CutMix): what is right about a row is no one class.
  bool mixed = false;
  /// `[N, 2]` int64: height and width of each picture as it is kept, which predictions of its
  /// pixels are to have; undefined: those of the scores.
  at::Tensor picture_sizes = {};
};

/// The tensor of a map that holds one alone. Throws `ConfigError` that names `what` for any other
/// number.
HEADRACE_API const at::Tensor& only(const TensorMap& tensors, const char* what);

/// Rows that count: `rows`, else those of the first target or input, or of `present`, which is
/// read: that waits for the device.
HEADRACE_API std::int64_t counted_rows(const Example& example);

/// `[N]` bool on the device: rows that hold samples, by the batch's field "valid"; undefined where
/// all do.
HEADRACE_API at::Tensor present_rows(const Batch& batch, at::Device device);

/// Rows that a rule for bad samples has left out; those that fill up an epoch's last batch are
/// none. Waits for the device where there are some.
HEADRACE_API std::vector<std::int64_t> unread_rows(const Batch& batch);

/// Fields by their names: "valid" is `present`; "label", "mask", "target" and their plurals, and
/// what mixing adds ("lambda", "..._partner"), are targets; all others are inputs. Copies to the
/// device what is not there, and changes nothing.
HEADRACE_API Example example_of_fields(const Batch& batch, at::Device device);

/// How the fields of a batch become an image classifier's example.
struct ImageFields {
  std::string input = "image";
  std::string target = "label";
  /// Rows are `[H, W, C]` and not `[C, H, W]`: they are seen as channels-last images, without a
  /// copy.
  bool rows_are_hwc = false;
  /// For integer images: per channel, of values in [0, 1]; empty for 0 and 1. Floating images are
  /// taken as they are, unless `of_floats`: then less the mean and divided by the deviation, too.
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
  bool of_floats = false;
  bool channels_last = false;  ///< memory layout of the input
  std::int64_t classes = 0;    ///< of soft labels that are made of a partner and its share
};

/// Makes an example of a batch. Called by the thread that trains.
using Unpack = std::function<Example(const Batch& batch, at::Device device)>;

/// Copies to the device what is not there, gives integer images the range [0, 1] and the statistics
/// of `fields` there. Targets are class indices int64 `[N]`: integers `[N]` or `[N, 1]` as they
/// are, of integer one-hot rows `[N, K]` the one; or soft labels float `[N, K]`: floating rows
/// as they are, and where mixing has left "lambda" and a partner, the shares of both, of
/// `fields.classes`; a batch without the target's field is one to predict. A field "valid" says
/// which rows are present. The statistics go to each device once. Throws `ConfigError` for
/// statistics that do not fit each other, for mixed labels without `classes`, for targets of
/// another shape, and `DataError` for integer rows in host memory that are present and not one-hot.
HEADRACE_API Unpack unpack_images(ImageFields fields = {});

/// How the fields of a batch become the example of a classifier of arrays.
struct ArrayFields {
  std::string input = "array";
  std::string target = "label";
  /// By feature of vectors, by channel of spectrograms, or one for all; empty for 0 and 1.
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
  bool channels_last = false;  ///< memory layout of spectrograms
  std::int64_t classes = 0;    ///< of soft labels that are made of a partner and its share
};

/// Makes an example of vectors `[N, values]`, or of spectrograms `[N, bins, frames]` (of one
/// channel) or `[N, channels, bins, frames]`, of any number type: float, less the mean and divided
/// by the deviation, there. Targets, presence and what is thrown are those of `unpack_images`.
HEADRACE_API Unpack unpack_arrays(ArrayFields fields = {});

/// Class indices `[N]` of a target: of soft labels the largest.
HEADRACE_API at::Tensor hard_labels(const at::Tensor& target);

}  // namespace headrace::inline v1::training
