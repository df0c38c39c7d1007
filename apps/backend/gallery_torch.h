#pragma once

#include <headrace/apps/figures/gallery.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What was decided about cases, and how wrong it is; all on the CPU.
struct Judged {
  /// `[N]` float: of classes the probability of the wrong one, or of several labels how far the
  /// farthest wrong one is off; of masks 1 - the mean Dice over the classes but the first that are
  /// there or predicted. 0 for what is right, and for absent rows.
  at::Tensor badness = {};
  at::Tensor scores = {};     ///< of classes `[N, K]`; of masks undefined
  at::Tensor predicted = {};  ///< as Recipe::predicted gives it
  at::Tensor truth = {};  ///< the same of the targets; of masks 255 where a pixel counts nowhere
};

/// Judges scores `[N, K]` against class indices, soft labels or labels `[N, K]` that exclude
/// nothing, or `[N, C, H, W]` against masks `[N, H, W]` or `[N, M, H, W]`; nothing where there are
/// no scores, or not one target.
std::optional<Judged> judge(const training::Recipe& recipe, const training::Cases& cases,
                            std::span<const training::TensorMap> fitted);

/// Chooses what is shown of a test, batch by batch: it keeps no more pictures than are shown. Used
/// by the thread that evaluates.
class GalleryKeeper {
 public:
  struct Options {
    std::vector<std::string> classes{};  ///< their names; empty: numbers
    std::int64_t records = 0;            ///< of the test, which `some` are taken from all over
    std::size_t worst = 24;
    std::size_t some = 8;
  };

  /// `course` shows the pictures; `fitted` is what the members' validations have chosen.
  GalleryKeeper(const training::Recipe& recipe, const training::Course& course,
                std::vector<training::TensorMap> fitted, Options options)
      : recipe_(recipe),
        course_(course),
        fitted_(std::move(fitted)),
        options_(std::move(options)) {}

  /// Cases with origins, in the order of the evaluation. Waits for the device.
  void add(const training::Cases& cases);
  Gallery result() const;

 private:
  // What is known of the cases at hand.
  struct AtHand {
    const training::Cases& cases;
    const Judged& judged;
    const at::Tensor& pictures;
  };

  JudgedPicture picture_of(const AtHand& all, std::int64_t row) const;
  void describe(JudgedPicture& one, const Judged& judged, std::int64_t row) const;
  std::string name(std::int64_t label) const;
  bool is_among_worst(double badness) const;

  const training::Recipe& recipe_;
  const training::Course& course_;
  std::vector<training::TensorMap> fitted_;
  Options options_;
  Gallery gallery_;
};

}  // namespace headrace::inline v1::app
