#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/expert_balance.h>
#include <headrace/models/losses/leak_loss.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/models/losses/topology_loss.h>
#include <headrace/tests/models/loss_harness.h>
#include <headrace/tests/models/registered_sheet_losses.h>

#include <utility>

#include <ATen/Functions.h>

namespace headrace::test {

namespace {

using namespace headrace::models;
using Make = std::function<LossCase(std::int64_t)>;

constexpr std::int64_t class_count = 4;

at::Tensor four_class_weights() {
  return at::tensor({.5, 1., 2., 3.}, at::kDouble);
}

// As many as there are rows, the second of weight zero.
at::Tensor row_weights(std::int64_t rows) {
  at::Tensor weights = at::ones({rows}, at::kDouble);
  weights[1] = 0.0;
  weights[0] = .5;
  return weights;
}

// What counts of targets `[N, ...]`.
at::Tensor counted(const at::Tensor& target, const at::Tensor& rows) {
  at::Tensor counts = target != ignored;
  if (rows.defined()) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(target.dim()), 1);
    shape.front() = rows.size(0);
    counts = counts & (rows != 0).view(shape);
  }
  return counts;
}

LossCase finished(LossCase one, const at::Tensor& direction, const at::Tensor& counts) {
  one.toward = at::where(counts, direction, 0.0);
  one.weightless = counts.logical_not().expand_as(one.logits);
  return one;
}

// Class indices beside logits `[N, classes, ...]`; `direction` moves a softmax towards them.
LossCase of_classes(Loss loss, const at::Tensor& logits, const at::Tensor& target,
                    const at::Tensor& rows) {
  const at::Tensor counts = counted(target, rows).unsqueeze(1);
  const at::Tensor safe = at::where(counts.squeeze(1), target, 0);
  const at::Tensor there =
      at::zeros_like(logits).scatter(1, safe.unsqueeze(1), at::ones_like(logits));
  return finished({.loss = std::move(loss), .logits = logits, .target = target},
                  there - at::softmax(logits, 1), counts);
}

// Values of the logits' shape; moves sigmoids towards them.
LossCase of_values(Loss loss, const at::Tensor& logits, const at::Tensor& target,
                   const at::Tensor& rows) {
  return finished({.loss = std::move(loss), .logits = logits, .target = target},
                  target - at::sigmoid(logits), counted(target, rows));
}

// [6 times, classes]
Make rows_of_classes(
    CrossEntropyOptions options, bool weighted,
    std::function<at::Tensor(const at::Tensor&, const at::Tensor&, const CrossEntropyOptions&)>
        loss) {
  return [=](std::int64_t times) {
    CrossEntropyOptions own = options;
    const std::int64_t rows = 6 * times;
    if (weighted)
      own.weights = {
          .of_classes = four_class_weights(), .of_samples = row_weights(rows), .ignore = ignored};
    at::Tensor target = classes({rows}, class_count, 2);
    if (weighted) target[4] = ignored;
    return of_classes([=](auto& z, auto& t) { return loss(z, t, own); },
                      values({rows, class_count}, 1), target, own.weights.of_samples);
  };
}

Make plane_of_classes(std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> loss,
                      bool ignores, at::Tensor rows = {}) {
  return [=](std::int64_t times) {
    const at::Tensor target = classes({2, 3, 4 * times}, class_count, 2);
    return of_classes(loss, values({2, class_count, 3, 4 * times}, 1),
                      ignores ? with_ignored(target) : target, rows);
  };
}

Make plane_of_values(std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> loss,
                     bool ignores, at::Tensor rows = {}) {
  return [=](std::int64_t times) {
    const at::Tensor target = classes({2, 2, 3, 4 * times}, 2, 3).to(at::kDouble);
    return of_values(loss, values({2, 2, 3, 4 * times}, 4), ignores ? with_ignored(target) : target,
                     rows);
  };
}

// Of one class .85, which no prediction has yet.
Make rows_of_shares(CrossEntropyOptions options) {
  return [=](std::int64_t times) {
    const at::Tensor logits = values({6 * times, class_count}, 1) * .3;
    const at::Tensor target =
        at::full_like(logits, .05)
            .scatter(1, classes({6 * times, 1}, class_count, 2), at::full_like(logits, .85));
    return LossCase{.loss = [=](auto& z, auto& t) { return cross_entropy(z, t, options); },
                    .logits = logits,
                    .target = target,
                    .toward = target - at::softmax(logits, 1)};
  };
}

// Classes and, last, the auxiliary column.
Make rows_of_leaks(bool weighted) {
  return [=](std::int64_t times) {
    const std::int64_t rows = 6 * times;
    LeakLossOptions options;
    at::Tensor weights;
    if (weighted) {
      options.class_weights = at::tensor({.5, 2., 1.}, at::kDouble);
      weights = row_weights(rows);
      options.present = weights != 0;
    }
    const at::Tensor logits = values({rows, 4}, 1);
    const at::Tensor target = classes({rows}, 3, 2);
    const LossCase of_class = of_classes({}, logits.narrow(1, 0, 3), target, weights);
    const LossCase of_leak = of_values(
        {}, logits.narrow(1, 3, 1), (target == options.leak).to(at::kDouble).unsqueeze(1), weights);
    LossCase one{.loss = [=](auto& z, auto& t) { return leak_loss(z, t, options); },
                 .logits = logits,
                 .target = target,
                 .toward = at::cat({of_class.toward, of_leak.toward}, 1),
                 .weightless = at::cat({of_class.weightless, of_leak.weightless}, 1)};
    return one;
  };
}

// A gate whose rows take the first two experts: its balance falls when they would rather have
// others.
Make rows_of_gates(bool weighted) {
  return [=](std::int64_t times) {
    const std::int64_t rows = 6 * times;
    const at::Tensor logits = values({rows, class_count}, 1);
    const at::Tensor chosen = at::arange(2, at::kLong).expand({rows, 2});
    ExpertBalanceOptions options;
    if (weighted) options.of_samples = row_weights(rows);
    const at::Tensor p = at::softmax(logits, 1);
    const at::Tensor shares = at::tensor({.5, .5, 0., 0.}, at::kDouble);
    return finished({.loss = [=](auto& z, auto& t) { return expert_balance_loss(z, t, options); },
                     .logits = logits,
                     .target = chosen},
                    p * ((p * shares).sum(1, true) - shares),
                    counted(chosen.narrow(1, 0, 1), options.of_samples));
  };
}

at::Tensor of_two_rows() {
  return at::tensor({0., 1.}, at::kDouble);
}

void add_cross_entropies(std::vector<RegisteredLoss>& all) {
  const auto value = [](auto& z, auto& t, const CrossEntropyOptions& options) {
    return cross_entropy(z, t, options);
  };
  const auto mean = [](auto& z, auto& t, const CrossEntropyOptions& options) {
    return mean_cross_entropy(z, t, options).value;
  };
  all.push_back({"cross_entropy", "rows", rows_of_classes({}, false, value)});
  all.push_back({"cross_entropy", "weighted rows, smoothed",
                 rows_of_classes({.label_smoothing = .1}, true, value)});
  all.push_back({"cross_entropy", "soft labels", rows_of_shares({})});
  all.push_back(
      {"mean_cross_entropy", "weighted rows, focal", rows_of_classes({.gamma = 2.0}, true, mean)});
  all.push_back(
      {"mean_cross_entropy", "rows, gamma .5", rows_of_classes({.gamma = .5}, false, mean)});
  all.push_back({"mean_cross_entropy", "pixels",
                 plane_of_classes(
                     [](auto& z, auto& t) {
                       return mean_cross_entropy(z, t,
                                                 {.weights = {.of_classes = four_class_weights(),
                                                              .of_samples = of_two_rows(),
                                                              .ignore = ignored}})
                           .value;
                     },
                     true, of_two_rows())});
  const auto focal = [](auto& z, auto& t, const CrossEntropyOptions& options) {
    return focal_loss(z, t, {.weights = options.weights});
  };
  all.push_back({"focal_loss", "rows", rows_of_classes({}, false, focal)});
  all.push_back({"focal_loss", "weighted rows", rows_of_classes({}, true, focal)});
  const auto clamped = [](auto& z, auto& t, const CrossEntropyOptions& options) {
    return clamped_focal_loss(z, t, {.weights = options.weights});
  };
  all.push_back({.function = "clamped_focal_loss",
                 .options = "rows",
                 .make = rows_of_classes({}, false, clamped),
                 .defect = "clamps logits, kept to show what that costs"});
}

void add_binary(std::vector<RegisteredLoss>& all) {
  for (const double gamma : {0.0, .5, 2.0})
    all.push_back({"mean_binary_cross_entropy", "gamma " + std::to_string(gamma),
                   plane_of_values(
                       [gamma](auto& z, auto& t) {
                         return mean_binary_cross_entropy(z, t, {.gamma = gamma}).value;
                       },
                       false)});
  all.push_back({"mean_binary_cross_entropy", "weighted, ignoring",
                 plane_of_values(
                     [](auto& z, auto& t) {
                       return mean_binary_cross_entropy(
                                  z, t,
                                  {.positive_weights = at::tensor({2., .5}, at::kDouble),
                                   .of_samples = of_two_rows(),
                                   .ignore = ignored})
                           .value;
                     },
                     true, of_two_rows())});
}

void add_leak(std::vector<RegisteredLoss>& all) {
  all.push_back({"leak_loss", "rows", rows_of_leaks(false)});
  all.push_back({"leak_loss", "weighted rows, some absent", rows_of_leaks(true)});
  Make terms = [](std::int64_t times) {
    LossCase one = rows_of_leaks(false)(times);
    one.loss = [](auto& z, auto& t) {
      const LeakLossTerms both = leak_loss_terms(z, t);
      return both.classes + both.auxiliary;
    };
    return one;
  };
  all.push_back({"leak_loss_terms", "their sum", std::move(terms)});
}

template <typename Function>
void add_region(std::vector<RegisteredLoss>& all, const std::string& name, Function loss) {
  const auto with = [loss](const RegionLossOptions& options) {
    return [loss, options](const at::Tensor& z, const at::Tensor& t) {
      return loss(z, t, options).value;
    };
  };
  const auto add = [&](const char* options, Make make) {
    all.push_back(
        {.function = name, .options = options, .make = std::move(make), .saturates = true});
  };
  add("softmax", plane_of_classes(with({}), false));
  add("softmax of the batch, ignoring",
      plane_of_classes(with({.batch = true, .ignore = ignored}), true));
  add("softmax, rows and pixels without weight",
      plane_of_classes(with({.ignore = ignored, .of_samples = of_two_rows()}), true,
                       of_two_rows()));
  add("sigmoids", plane_of_values(with({.sigmoid = true}), false));
  add("sigmoids, rows and pixels without weight",
      plane_of_values(with({.sigmoid = true, .ignore = ignored, .of_samples = of_two_rows()}), true,
                      of_two_rows()));
}

// Masks that the logits lean to, so that every step towards them makes edges more alike.
Make leaning_masks(const EdgeLossOptions& options) {
  return [options](std::int64_t times) {
    const std::int64_t width = 9 * times;
    at::Tensor target = classes({2, 1, 7, width}, 2, 3).to(at::kDouble);
    const at::Tensor logits = (target * 2 - 1) * .8 + values({2, 1, 7, width}, 4) * .2;
    if (options.ignore) target.slice(2, 3, 4).slice(3, 0, width, 5).fill_(ignored);
    return of_values([options](auto& z, auto& t) { return edge_loss(z, t, options).value; }, logits,
                     target, options.of_samples);
  };
}

void add_edge(std::vector<RegisteredLoss>& all) {
  const auto add = [&](const char* options, Make make) {
    all.push_back(
        {.function = "edge_loss", .options = options, .make = std::move(make), .of_edges = true});
  };
  add("masks", leaning_masks({}));
  add("rows and pixels without weight",
      leaning_masks({.ignore = ignored, .of_samples = of_two_rows()}));
}

void add_structure(std::vector<RegisteredLoss>& all) {
  for (const bool legacy : {false, true}) {
    const auto with = [legacy](bool picky) {
      StructureLossOptions options{.legacy = legacy};
      if (picky) options.ignore = ignored;
      if (picky) options.of_samples = of_two_rows();
      return [options](const at::Tensor& z, const at::Tensor& t) {
        return structure_loss(z, t, options).value;
      };
    };
    const std::string form = legacy ? "legacy, " : "";
    all.push_back({"structure_loss", form + "masks", plane_of_values(with(false), false)});
    all.push_back({"structure_loss", form + "rows and pixels without weight",
                   plane_of_values(with(true), true, of_two_rows())});
  }
}

// A gap in what should be one component, and a spur behind it.
Make rows_of_gaps(bool weighted) {
  return [=](std::int64_t times) {
    const std::vector<std::int64_t> shape{2 * times, 1, 1, 1, 6};
    const at::Tensor p = at::tensor({.8, .3, .7, .2, .4, .1}, at::kDouble);
    const at::Tensor labels = at::zeros(shape, at::kLong);
    TopologyTargets targets{.betti = at::tensor({1, 0, 0}, at::kLong).expand({2 * times, 3})};
    TopologyLossOptions options;
    if (weighted) {
      targets.of_samples = row_weights(2 * times);
      labels[0].view(-1)[5] = ignored;
      options.ignore = ignored;
    }
    const auto loss = [=](const at::Tensor& z, const at::Tensor& t) {
      TopologyTargets own = targets;
      own.labels = t;
      return topology_loss(z, own, options).value;
    };
    return finished(
        {.loss = loss, .logits = at::logit(p).expand(shape).contiguous(), .target = labels},
        at::tensor({0., 1., 0., 0., -1., 0.}, at::kDouble).expand(shape),
        counted(labels, targets.of_samples));
  };
}

}  // namespace

const std::vector<RegisteredLoss>& registered_losses() {
  static const std::vector<RegisteredLoss> all = [] {
    std::vector<RegisteredLoss> made;
    add_cross_entropies(made);
    add_binary(made);
    add_leak(made);
    for (const bool weighted : {false, true})
      made.push_back({.function = "expert_balance_loss",
                      .options = weighted ? "weighted rows, some absent" : "rows",
                      .make = rows_of_gates(weighted),
                      .saturates = true});
    add_region(made, "soft_dice_loss", soft_dice_loss);
    add_region(made, "soft_iou_loss", soft_iou_loss);
    add_edge(made);
    add_structure(made);
    for (const bool weighted : {false, true})
      made.push_back({.function = "topology_loss",
                      .options = weighted ? "rows and voxels without weight" : "rows",
                      .make = rows_of_gaps(weighted),
                      .saturates = true});
    add_sheet_losses(made);
    return made;
  }();
  return all;
}

}  // namespace headrace::test
