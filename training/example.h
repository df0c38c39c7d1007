#pragma once

#include <ATen/core/Tensor.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// A batch as a network and a loss take it.
struct Example {
  at::Tensor input = {};
  at::Tensor target = {};
  /// `[N]` bool: rows that count; undefined when all do.
  at::Tensor present = {};
  /// How many of `present` are set, where that is known without asking the device.
  std::optional<std::int64_t> rows = {};
};

/// Rows that count: of the target, of `rows`, or else of `present`, which is read: that waits for
/// the device.
HEADRACE_API std::int64_t counted_rows(const Example& example);

/// Makes an example of a batch, on the compute device. Called by the thread that trains; may be a
/// view of the batch's memory, which is given back when the example dies.
using Unpack = std::function<Example(const Batch& batch, at::Device device)>;

/// How the fields of a batch become an image classifier's example.
struct ImageFields {
  std::string input = "image";
  std::string target = "label";
  /// Rows are `[H, W, C]` and not `[C, H, W]`: they are seen as channels-last images, without a
  /// copy.
  bool rows_are_hwc = false;
  /// For integer images: per channel, of values in [0, 1]; empty for 0 and 1. Floating images are
  /// taken as they are.
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
  bool channels_last = false;  ///< memory layout of the input
};

/// Copies to the device what is not there, gives integer images the range [0, 1] and the statistics
/// of `fields` there, and takes targets as class indices: of integers `[N]` or `[N, 1]` themselves,
/// of one-hot rows `[N, K]` the largest. A field `valid`, where the batch has one, says which rows
/// are present. The statistics go to each device once.
HEADRACE_API Unpack unpack_images(ImageFields fields = {});

}  // namespace headrace::inline v1::training
