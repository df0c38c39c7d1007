#include <headrace/apps/task/loss_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/binary_cross_entropy.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/region_loss.h>

#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include <ATen/ops/_upsample_nearest_exact3d.h>
#include <ATen/ops/upsample_nearest2d.h>

namespace headrace::inline v1::app {
namespace {

// An output that a term judges, its share of the term, and the word behind the term's name.
struct Judged {
  at::Tensor output;
  double share = 1.0;
  std::string word{};
};

// nnU-Net's: each output half as much as the finer one, the coarsest nothing where there are
// several, in all 1.
std::vector<Judged> deep_outputs(const std::vector<at::Tensor>& deep) {
  const std::size_t counted = deep.size() > 1 ? deep.size() - 1 : deep.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < counted; ++i)
    sum += std::pow(0.5, static_cast<double>(i));
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < counted; ++i)
    judged.push_back({.output = deep[i],
                      .share = std::pow(0.5, static_cast<double>(i)) / sum,
                      .word = "_deep" + (counted > 1 ? std::to_string(i + 1) : std::string())});
  return judged;
}

std::vector<Judged> judged_outputs(const LossEntry& entry, const training::Output& output) {
  if (entry.on == "main") return {{.output = output.main}};
  if (entry.on == "deep" && !output.deep.empty()) return deep_outputs(output.deep);
  const auto found = output.extra.find(entry.on);
  if (found != output.extra.end()) return {{.output = found->second, .word = "_" + entry.on}};
  std::string known = output.deep.empty() ? "main" : "main, deep";
  for (const auto& [name, tensor] : output.extra)
    known += ", " + name;
  throw ConfigError("[config] " + entry.place.text() + ": loss " + name_of(entry) +
                    ": on must be an output of the network (" + known + "), got \"" + entry.on +
                    '"');
}

bool of_size(const at::Tensor& target, const at::Tensor& output) {
  return target.sizes().slice(1) == output.sizes().slice(2);
}

// Masks [N, H, W] or labels [N, Z, Y, X] in the size of an output of deep supervision.
at::Tensor resized(const at::Tensor& target, const at::Tensor& output) {
  const at::Tensor values = target.unsqueeze(1).to(at::kFloat);
  const at::IntArrayRef sides = output.sizes().slice(2);
  const at::Tensor made = target.dim() == 4 ? at::_upsample_nearest_exact3d(values, sides)
                                            : at::upsample_nearest2d(values, sides);
  return made.squeeze(1).to(target.scalar_type());
}

class TermMaker {
 public:
  TermMaker(const LossContext& context, const training::Example& example)
      : context_(context), targets_(example.targets), target_(main_target()) {
    if (example.present.defined()) present_ = example.present.to(at::kFloat);
    if (context.ignore >= 0) ignore_ = context.ignore;
  }

  models::MeanLoss make(const LossEntry& entry, const at::Tensor& output) const {
    const at::Tensor target = target_for(output);
    return std::visit([&](const auto& term) { return loss(term, output, target); }, entry.term);
  }

 private:
  const at::Tensor& main_target() const {
    if (context_.target.empty()) return training::only(targets_, "target");
    const auto found = targets_.find(context_.target);
    if (found != targets_.end()) return found->second;
    throw ConfigError("[loss] there must be a target \"" + context_.target +
                      "\" to learn from, got none");
  }

  at::Tensor target_for(const at::Tensor& output) const {
    const std::int64_t axes = target_.dim() + 1;
    const bool spatial = axes == 4 || axes == 5;
    if (!spatial || output.dim() != axes || of_size(target_, output)) return target_;
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
                                             {.positive_weights = context_.positive_weights,
                                              .of_samples = present_,
                                              .gamma = term.gamma,
                                              .ignore = ignore});
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
};

}  // namespace

std::vector<training::Term> loss_terms(const LossList& list, const training::Output& output,
                                       const training::Example& example,
                                       const LossContext& context) {
  const TermMaker maker(context, example);
  std::vector<training::Term> terms;
  for (const LossEntry& entry : list) {
    for (const Judged& judged : judged_outputs(entry, output)) {
      const models::MeanLoss loss = maker.make(entry, judged.output);
      terms.push_back({.name = name_of(entry) + judged.word,
                       .value = loss.value,
                       .factor = entry.factor * judged.share,
                       .weight = loss.weight});
    }
  }
  return terms;
}

}  // namespace headrace::inline v1::app
