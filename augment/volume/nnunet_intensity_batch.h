#pragma once

#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>

namespace headrace::inline v1 {

/// Draws what NnUNetIntensity would, with the same values from the same random draws, into field
/// "<field>_intensity" uint8 [channels, bytes], for ApplyNnUNetIntensity after batch(). The bytes
/// go with the batch to its device, where each kernel finds its rows; a row without a sample has
/// zeros, which change nothing.
struct HEADRACE_API DrawNnUNetIntensity {
  NnUNetIntensity augment{};
  /// Of images that the samples do not hold, since their batch is made on the device (see
  /// ResamplePatches): [channels, z, y, x]. Of rank 0: the samples hold them.
  Shape shape{};

  std::string name() const { return augment.name(); }
  /// Throws ConfigError as NnUNetIntensity does, and for images that are not all of one shape.
  Schema schema(const Schema& in) const;
  /// Throws DataError as NnUNetIntensity does.
  void operator()(Sample& sample, Random& random) const;
};

/// Applies what DrawNnUNetIntensity drew to a batch float32 [rows, channels, z, y, x], in place and
/// where the batch is, to the values of NnUNetIntensity on each sample, to the bit. On a device
/// nothing is waited for: statistics stay there, and "<field>_intensity" becomes the memory that
/// the kernels work in, whose content is of no use. `augment` is the same as the draw's.
struct HEADRACE_API ApplyNnUNetIntensity {
  NnUNetIntensity augment{};

  std::string name() const { return augment.name(); }
  /// Throws ConfigError as the draw does, and without the field that it makes.
  Schema schema(const Schema& in) const;
  /// Throws PipelineError for fields that do not fit.
  void operator()(Batch& batch, Stream stream) const;
};

}  // namespace headrace::inline v1
