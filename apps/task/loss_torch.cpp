#include <headrace/apps/task/loss_torch.h>
#include <headrace/apps/task/sheet_terms_torch.h>
#include <headrace/apps/task/topology_term_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/models/losses/region_loss.h>

#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include <ATen/ops/_upsample_nearest_exact3d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

// An output that a term judges, its share of the term, and the word behind the term's name.
struct Judged {
  at::Tensor output;
  double share = 1.0;
  std::string word{};
};

// Of the outputs that count, in all 1.
std::vector<double> shares_of(DeepShares shares, std::size_t outputs) {
  if (shares == DeepShares::equal)
    return std::vector<double>(outputs, 1.0 / static_cast<double>(outputs));
  const std::size_t counted = outputs > 1 ? outputs - 1 : outputs;
  double sum = 0.0;
  for (std::size_t i = 0; i < counted; ++i)
    sum += std::pow(0.5, static_cast<double>(i));
  std::vector<double> each;
  for (std::size_t i = 0; i < counted; ++i)
    each.push_back(std::pow(0.5, static_cast<double>(i)) / sum);
  return each;
}

std::vector<Judged> deep_outputs(const std::vector<at::Tensor>& deep, DeepShares shares) {
  const std::vector<double> each = shares_of(shares, deep.size());
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < each.size(); ++i)
    judged.push_back({.output = deep[i],
                      .share = each[i],
                      .word = "_deep" + (each.size() > 1 ? std::to_string(i + 1) : std::string())});
  return judged;
}

std::vector<Judged> judged_outputs(const LossEntry& entry, const training::Output& output) {
  if (entry.on == "main") return {{.output = output.main}};
  if (entry.on == "deep" && !output.deep.empty()) return deep_outputs(output.deep, entry.shares);
  const auto found = output.extra.find(entry.on);
  if (found != output.extra.end()) return {{.output = found->second, .word = "_" + entry.on}};
  std::string known = output.deep.empty() ? "main" : "main, deep";
  for (const auto& [name, tensor] : output.extra)
    known += ", " + name;
  throw ConfigError("[config] " + entry.place.text() + ": loss " + name_of(entry) +
                    ": on must be an output of the network (" + known + "), got \"" + entry.on +
                    '"');
}

at::IntArrayRef sides_of(const at::Tensor& output) {
  return output.sizes().slice(2);
}

// A mask for each channel, `[N, K, H, W]`; else targets have no axis of channels.
bool has_channels(const at::Tensor& target, const at::Tensor& output) {
  return target.dim() == 4 && output.dim() == 4;
}

// Of pixels or voxels, one for each place of some output.
bool is_spatial(const at::Tensor& target, const at::Tensor& output) {
  const bool outputs = output.dim() == 4 || output.dim() == 5;
  return outputs && (target.dim() + 1 == output.dim() || has_channels(target, output));
}

bool of_size(const at::Tensor& target, const at::Tensor& output) {
  const at::IntArrayRef sides = sides_of(output);
  return target.sizes().slice(static_cast<std::size_t>(target.dim()) - sides.size()) == sides;
}

// Masks or labels in the size of an output of deep supervision, by nearest pixels or voxels.
at::Tensor resized(const at::Tensor& target, const at::Tensor& output) {
  const bool channels = has_channels(target, output);
  const at::Tensor values = (channels ? target : target.unsqueeze(1)).to(at::kFloat);
  const at::IntArrayRef sides = sides_of(output);
  const at::Tensor made = output.dim() == 5 ? at::_upsample_nearest_exact3d(values, sides)
                                            : at::upsample_nearest2d(values, sides);
  return (channels ? made : made.squeeze(1)).to(target.scalar_type());
}

// Masks of pictures as soft values in the size of an output; `ignore` where a pixel that is ignored
// has a part in one.
at::Tensor softened(const at::Tensor& target, const at::Tensor& output,
                    std::optional<std::int64_t> ignore) {
  const bool channels = has_channels(target, output);
  const at::Tensor values = (channels ? target : target.unsqueeze(1)).to(at::kFloat);
  const auto blended = [&output](const at::Tensor& maps) {
    return at::upsample_bilinear2d(maps, sides_of(output), /*align_corners=*/false);
  };
  at::Tensor made;
  if (ignore) {
    const at::Tensor unknown = values == *ignore;
    made = at::where(blended(unknown.to(at::kFloat)) > 0, static_cast<float>(*ignore),
                     blended(at::where(unknown, 0.0, values)));
  } else {
    made = blended(values);
  }
  return channels ? made : made.squeeze(1);
}

class TermMaker {
 public:
  TermMaker(const LossContext& context, const training::Example& example)
      : context_(context), targets_(example.targets), target_(main_target()) {
    if (example.present.defined()) present_ = example.present.to(at::kFloat);
    if (context.ignore >= 0) ignore_ = context.ignore;
  }

  models::MeanLoss make(const LossEntry& entry, const at::Tensor& output) {
    require_sigmoid(entry);
    const at::Tensor target = target_for(output, entry.resize);
    return std::visit(
        [&](const auto& term) -> models::MeanLoss {
          if constexpr (requires { loss(term, output, target); })
            return loss(term, output, target);
          else
            return of_sheets(entry, output, target);
        },
        entry.term);
  }

 private:
  const at::Tensor& main_target() const {
    if (context_.target.empty()) return training::only(targets_, "target");
    const auto found = targets_.find(context_.target);
    if (found != targets_.end()) return found->second;
    throw ConfigError("[loss] there must be a target \"" + context_.target +
                      "\" to learn from, got none");
  }

  void require_sigmoid(const LossEntry& entry) const {
    const bool soft = entry.resize == TargetResize::bilinear;
    if (context_.sigmoid || (!soft && !is_binary(entry)) ||
        std::holds_alternative<BinaryCrossEntropyTerm>(entry.term))
      return;
    throw ConfigError("[config] " + entry.place.text() + ": loss " + name_of(entry) +
                      (is_binary(entry) ? "" : " with resize: bilinear") +
                      " judges masks of sigmoids, but these scores are of a softmax over classes; "
                      "take bce or structure for the masks, or leave it out");
  }

  at::Tensor target_for(const at::Tensor& output, TargetResize resize) const {
    if (!is_spatial(target_, output) || of_size(target_, output)) return target_;
    if (resize == TargetResize::bilinear) return softened(target_, output, ignore_);
    const std::string smaller = context_.target + "_";
    for (const auto& [name, target] : targets_)
      if (name.starts_with(smaller) && target.dim() == target_.dim() && of_size(target, output))
        return target;
    return resized(target_, output);
  }

  models::MeanLoss loss(const CrossEntropyTerm& term, const at::Tensor& output,
                        const at::Tensor& target) const {
    return models::mean_cross_entropy(output, target,
                                      {.label_smoothing = term.smoothing,
                                       .weights = {.of_classes = context_.class_weights,
                                                   .of_samples = present_,
                                                   .ignore = ignore_},
                                       .gamma = term.gamma});
  }

  models::MeanLoss loss(const BinaryCrossEntropyTerm& term, const at::Tensor& output,
                        const at::Tensor& target) const {
    std::optional<double> ignore;
    if (ignore_) ignore = static_cast<double>(*ignore_);
    return models::mean_binary_cross_entropy(output, target,
                                             {.positive_weights = positive_weights(term, output),
                                              .of_samples = present_,
                                              .gamma = term.gamma,
                                              .ignore = ignore});
  }

  models::MeanLoss of_sheets(const LossEntry& entry, const at::Tensor& output,
                             const at::Tensor& target) {
    if (!sheets_)
      sheets_.emplace(targets_,
                      models::MaskedMapsOptions{.ignore = ignore_, .of_samples = present_});
    return sheets_->make(entry, output, target);
  }

  at::Tensor positive_weights(const BinaryCrossEntropyTerm& term, const at::Tensor& output) const {
    if (term.positive == 1.0) return context_.positive_weights;
    if (context_.positive_weights.defined()) return context_.positive_weights * term.positive;
    return at::full({output.size(1)}, term.positive, output.options().dtype(at::kFloat));
  }

  models::MeanLoss loss(const DiceTerm& term, const at::Tensor& output,
                        const at::Tensor& target) const {
    models::RegionLossOptions options = region(term.background, term.smooth);
    options.batch = term.batch;
    return models::soft_dice_loss(output, target, options);
  }

  models::MeanLoss loss(const IouTerm& term, const at::Tensor& output,
                        const at::Tensor& target) const {
    return models::soft_iou_loss(output, target, region(term.background, term.smooth));
  }

  models::MeanLoss loss(const EdgeTerm& /*term*/, const at::Tensor& output,
                        const at::Tensor& target) const {
    return models::edge_loss(output, target, {.ignore = ignore_, .of_samples = present_});
  }

  models::MeanLoss loss(const StructureTerm& term, const at::Tensor& output,
                        const at::Tensor& target) const {
    return models::structure_loss(
        output, target, {.legacy = term.legacy, .ignore = ignore_, .of_samples = present_});
  }

  models::RegionLossOptions region(bool background, double smooth) const {
    return {.smooth = smooth,
            .sigmoid = context_.sigmoid,
            .background = context_.sigmoid || background,
            .ignore = ignore_,
            .of_samples = present_};
  }

  const LossContext& context_;
  const training::TensorMap& targets_;
  const at::Tensor& target_;
  at::Tensor present_;
  std::optional<std::int64_t> ignore_;
  std::optional<SheetTerms> sheets_;
};

}  // namespace

std::vector<training::Term> loss_terms(const LossList& list, const training::Output& output,
                                       const training::Example& example,
                                       const LossContext& context) {
  TopologyTerms topology(list, output, example, context);
  TermMaker maker(context, example);
  std::vector<training::Term> terms;
  for (const LossEntry& entry : list) {
    if (std::holds_alternative<TopologyTerm>(entry.term)) continue;
    for (const Judged& judged : judged_outputs(entry, output)) {
      const models::MeanLoss loss = maker.make(entry, judged.output);
      terms.push_back({.name = name_of(entry) + judged.word,
                       .value = loss.value,
                       .factor = entry.factor * judged.share,
                       .weight = loss.weight});
    }
  }
  topology.add_to(terms);
  return terms;
}

}  // namespace headrace::inline v1::app
