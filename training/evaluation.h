#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace headrace::inline v1::training {

struct EvaluationOptions {
  Split split = Split::validation;
  at::Device device = at::kCPU;
  Stage stage = {};        ///< its precision
  std::uint64_t seed = 0;  ///< of what a course draws
  std::int64_t epoch = 0;  ///< where training is: see `Moment`
  std::int64_t step = 0;
  std::int64_t steps = 0;
  TensorMap fitted = {};  ///< what the metric of a validation has chosen, for a test
  bool origins = false;   ///< cases say where they came from
  /// Given the cases of every batch, in order, without gradient; empty: none.
  std::function<void(const Cases& cases)> on_cases = {};
};

struct Evaluation {
  /// "loss" and its terms, where a forward pass made the cases, then those of the metric.
  Figures figures = {};
  std::int64_t samples = 0;
  TensorMap fitted = {};                                  ///< what the metric has chosen
  std::optional<models::ConfusionMatrix> confusion = {};  ///< of the metric, if it has one
  double seconds = 0.0;

  /// Of the figures; not a number where there is none of that name.
  double operator[](const std::string& name) const { return figure(figures, name); }
};

/// Runs an epoch of `loader` through the network in evaluation mode, without gradients and with the
/// loader's own batch size; puts the network's mode back. Means are over rows (or what examples and
/// terms weigh), so batches may differ in size. Empty if `stop` asked to end before it was done.
/// Throws what the loader and the course throw.
HEADRACE_API std::optional<Evaluation> evaluate(const Course& course, models::Network& network,
                                                Loader& loader,
                                                const EvaluationOptions& options = {},
                                                std::stop_token stop = {});

/// The same for data whose targets nobody knows: gives `on_cases` all cases. False if `stop` asked
/// to end before.
HEADRACE_API bool predict(const Course& course, models::Network& network, Loader& loader,
                          const EvaluationOptions& options, std::stop_token stop = {});

}  // namespace headrace::inline v1::training
