#pragma once

#include <headrace/apps/config/fields.h>

#include <cstdint>
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
  double positive = 1.0;  ///< weight of what is there against what is not
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

/// How soft skeletons erode: by the six neighbours (clDice), or by the cube of 27 (the original
/// job).
enum class SkeletonBy : unsigned char { cross, cube };
/// clDice of a mask of volumes, by the sigmoid.
struct ClDiceTerm {
  std::int64_t iterations = 3;  ///< of the soft skeleton: half of the largest thickness
  SkeletonBy by = SkeletonBy::cross;
};
/// Mean difference of the soft skeletons of mask and target.
struct SkeletonTerm {
  std::int64_t iterations = 3;
  SkeletonBy by = SkeletonBy::cross;
};
/// Share of the target's skeleton, which the operation skeleton adds, that is not found.
struct SkeletonRecallTerm {
  double smooth = 1.0;
};
/// What is predicted far from the target, and what of the target lies far from what is predicted.
struct SurfaceDistanceTerm {
  double most = 2.0;   ///< voxels beyond which distances count alike
  bool missed = true;  ///< the second part counts
};
/// Topology of a crop in the middle, by persistent homology, against the Betti numbers that the
/// operation betti_targets adds.
struct TopologyTerm {
  std::int64_t side = 32;   ///< most voxels of the crop along each axis
  std::int64_t every = 10;  ///< steps, of which one has it
  std::int64_t after = 0;   ///< epochs of the stage before the first
  int threads = 2;          ///< that look for pairs beside the step
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
  std::variant<CrossEntropyTerm, BinaryCrossEntropyTerm, DiceTerm, IouTerm, EdgeTerm, StructureTerm,
               ClDiceTerm, SkeletonTerm, SkeletonRecallTerm, SurfaceDistanceTerm, TopologyTerm>
      term{};
  double factor = 1.0;
  /// "main", "deep" (every output of deep supervision), or another output's name.
  std::string on = "main";
  DeepShares shares = DeepShares::halving;      ///< where `on` is "deep"
  TargetResize resize = TargetResize::nearest;  ///< where `on` is not "main"
  Place place{};
};

using LossList = std::vector<LossEntry>;

/// What terms judge.
enum class LossFor : unsigned char {
  labels,  ///< a class, or some, of a record
  masks,
  sheets,  ///< one mask of volumes, of what is thin
};

/// The key `loss` of a task, with the terms for what it has.
void describe_loss(Fields& fields, LossList& list, LossFor judged);

/// The word of an entry's kind: "cross_entropy".
std::string name_of(const LossEntry& entry);

/// Whether its term is one of labels or masks that do not exclude each other: the network's scores
/// are then those of sigmoids.
bool is_binary(const LossEntry& entry);

/// Whether its term is one of thin sheets in volumes, of one mask by a sigmoid.
bool is_of_sheets(const LossEntry& entry);

}  // namespace headrace::inline v1::app
