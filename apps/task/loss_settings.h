#pragma once

#include <headrace/apps/config/fields.h>

#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// Cross entropy over classes, by the softmax.
struct CrossEntropyTerm {
  double smoothing = 0.0;
  double gamma = 0.0;  ///< of the focal form; 0: plain
};
/// Binary cross entropy of each label, by the sigmoid.
struct BinaryCrossEntropyTerm {
  double gamma = 0.0;
};
/// Soft Dice over classes (nnU-Net's form).
struct DiceTerm {
  bool background = false;  ///< whether class 0 counts, where there are others
  bool batch = false;       ///< over all pictures of a batch at once
  double smooth = 1e-5;
};
/// Soft intersection over union.
struct IouTerm {
  bool background = false;
  double smooth = 1.0;
};
/// Squared difference of the Sobel magnitudes of masks, by the sigmoid.
struct EdgeTerm {};
/// The structure loss of F3Net, by the sigmoid.
struct StructureTerm {
  bool legacy = false;  ///< the published code's form
};

/// What each output of deep supervision has of a term on all of them; in all 1.
enum class DeepShares : unsigned char {
  halving,  ///< nnU-Net's: half as much as the finer one, the coarsest of several nothing
  equal,    ///< the mean
};

/// How a target of pictures becomes one of an output of another size.
enum class TargetResize : unsigned char {
  nearest,   ///< one of its pixels
  bilinear,  ///< soft values between, of masks by the sigmoid
};

/// An entry of the list `loss`.
struct LossEntry {
  std::variant<CrossEntropyTerm, BinaryCrossEntropyTerm, DiceTerm, IouTerm, EdgeTerm, StructureTerm>
      term{};
  double factor = 1.0;
  /// "main", "deep" (every output of deep supervision), or another output's name.
  std::string on = "main";
  DeepShares shares = DeepShares::halving;      ///< where `on` is "deep"
  TargetResize resize = TargetResize::nearest;  ///< where `on` is not "main"
  Place place{};
};

using LossList = std::vector<LossEntry>;

/// The key `loss` of a task; `masks`: its targets are such, so there are terms for them, too.
void describe_loss(Fields& fields, LossList& list, bool masks);

/// The word of an entry's kind: "cross_entropy".
std::string name_of(const LossEntry& entry);

/// Whether its term is one of labels or masks that do not exclude each other: the network's scores
/// are then those of sigmoids.
bool is_binary(const LossEntry& entry);

}  // namespace headrace::inline v1::app
