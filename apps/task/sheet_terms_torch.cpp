#include <headrace/apps/task/sheet_terms_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/skeleton_losses.h>
#include <headrace/models/losses/surface_distance_loss.h>

#include <algorithm>
#include <variant>

namespace headrace::inline v1::app {
namespace {

constexpr const char* soft_field = "soft_skeleton";
constexpr const char* grown_field = "skeleton";

}  // namespace

models::MeanLoss SheetTerms::make(const LossEntry& entry, const at::Tensor& output,
                                  const at::Tensor& target) {
  Seen& seen = seen_of(output, target);
  if (const auto* term = std::get_if<ClDiceTerm>(&entry.term))
    return models::cldice_loss(seen.maps, skeletons_of(seen, term->iterations, term->by));
  if (const auto* term = std::get_if<SkeletonTerm>(&entry.term))
    return models::morphological_skeleton_loss(seen.maps,
                                               skeletons_of(seen, term->iterations, term->by));
  if (const auto* term = std::get_if<SkeletonRecallTerm>(&entry.term))
    return models::skeleton_recall_loss(seen.maps, grown_skeleton(entry, seen), term->smooth);
  const auto& term = std::get<SurfaceDistanceTerm>(entry.term);
  return models::surface_distance_loss(seen.maps, {.limit = term.most, .missed = term.missed});
}

SheetTerms::Seen& SheetTerms::seen_of(const at::Tensor& output, const at::Tensor& target) {
  const auto found =
      std::ranges::find_if(seen_, [&](const Seen& seen) { return seen.output.is_same(output); });
  if (found != seen_.end()) return *found;
  return seen_.emplace_back(
      Seen{.output = output, .maps = models::masked_maps(output, target, options_)});
}

const models::SheetSkeletons& SheetTerms::skeletons_of(Seen& seen, std::int64_t iterations,
                                                       SkeletonBy by) {
  const models::SoftSkeletonOptions options{.iterations = iterations,
                                            .operators = by == SkeletonBy::cube
                                                             ? models::SkeletonOperators::cube
                                                             : models::SkeletonOperators::cross};
  for (const auto& [known, skeletons] : seen.skeletons)
    if (known.iterations == options.iterations && known.operators == options.operators)
      return skeletons;
  return seen.skeletons
      .emplace_back(options, models::sheet_skeletons(seen.maps, options, field(soft_field, seen)))
      .second;
}

at::Tensor SheetTerms::field(const char* name, const Seen& seen) const {
  const auto found = targets_.find(name);
  if (found == targets_.end() || found->second.numel() != seen.output.numel()) return {};
  return found->second;
}

at::Tensor SheetTerms::grown_skeleton(const LossEntry& entry, const Seen& seen) const {
  const at::Tensor grown = field(grown_field, seen);
  if (grown.defined()) return grown;
  throw ConfigError("[config] " + entry.place.text() +
                    ": loss skeleton_recall: there must be the target's skeleton, of the size of "
                    "the output that it judges; put skeleton at the end of the list augment, and "
                    "leave out on: deep");
}

}  // namespace headrace::inline v1::app
