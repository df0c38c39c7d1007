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

/// An entry of the list `loss`.
struct LossEntry {
  std::variant<CrossEntropyTerm, BinaryCrossEntropyTerm, DiceTerm, IouTerm> term{};
  double factor = 1.0;
  /// "main", "deep" (every output of deep supervision, the finer the more), or another output's
  /// name.
  std::string on = "main";
  Place place{};
};

using LossList = std::vector<LossEntry>;

/// The key `loss` of a task; `masks`: Dice and IoU are for it, too.
void describe_loss(Fields& fields, LossList& list, bool masks);

/// The word of an entry's kind: "cross_entropy".
std::string name_of(const LossEntry& entry);

/// Whether its term is one of labels that do not exclude each other.
bool is_binary(const LossEntry& entry);

}  // namespace headrace::inline v1::app
