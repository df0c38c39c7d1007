#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Mixes the pictures of a batch, uint8 [rows, H, W, C], and their labels: by Mixup (Zhang, Cisse,
/// Dauphin, Lopez-Paz, ICLR 2018), lambda of a row and 1 - lambda of its partner; or by CutMix (Yun
/// et al., ICCV 2019), a box of the partner pasted in. As in torchvision a row's partner is the row
/// before it (v2.MixUp, v2.CutMix) and lambda is Beta-distributed; but in groups of `group` rows,
/// each with draws of its own, the first row's partner being the last of its group.
///
/// A group is a range of global positions, so the number of ranks changes nothing: each rank's
/// share of a batch must be a multiple of `group`; over more than one rank that asks for a tail
/// that is dropped or padded. Rows that no whole group is left for at the end of an epoch, and
/// groups with absent rows, stay unmixed (lambda 1).
///
/// Mixup without CutMix mixes arrays of any shape, too, uint8, float16, bfloat16 or float32.
///
/// A batch operation in host memory. The field `label`, int64 [rows], becomes float32 [rows,
/// classes]; or, with classes 0, it stays, and float32 [rows] "lambda" and int64 [rows]
/// "<label>_partner" are added: loss = lambda * loss(label) + (1 - lambda) * loss(partner).
struct HEADRACE_API MixBatch {
  double mixup_alpha = 0.8;   ///< of Beta(alpha, alpha); 0: no Mixup
  double cutmix_alpha = 1.0;  ///< likewise; 0: no CutMix
  double cutmix_share = 0.5;  ///< probability of CutMix where both are on
  double p = 1.0;             ///< probability that a group is mixed
  int group = 2;              ///< rows, at least 2
  int classes = 0;            ///< soft labels of so many classes; 0: lambda and partner
  double smoothing = 0.0;  ///< of soft labels: off = smoothing / classes, on = off + 1 - smoothing
  std::uint64_t seed = 0;  ///< beside the seed of the order
  std::string field = "image";
  std::string label = "label";

  /// What is drawn for one group.
  struct Draw {
    float lambda = 1.0F;  ///< share of a row's own picture
    bool cut = false;     ///< rows [top, bottom) x columns [left, right) are the partner's
    std::int64_t top = 0;
    std::int64_t bottom = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;
  };

  std::string name() const { return "mix"; }
  /// Throws ConfigError for parameters that cannot be right and for fields of another kind.
  Schema schema(const Schema& in) const;
  /// Throws PipelineError where a share begins inside a group or a label is no class, DeviceError
  /// for a batch in device memory.
  void operator()(Batch& batch) const;
  /// The draw of the group whose first row has this global position, for pictures of that size.
  Draw draw(std::uint64_t order_seed, std::int64_t epoch, std::int64_t position,
            std::int64_t height, std::int64_t width) const;
};

}  // namespace headrace::inline v1
