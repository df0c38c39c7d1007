#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/memory/memory_report.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

struct EvaluationOptions {
  Split split = Split::validation;
  at::Device device = at::kCPU;
  Stage stage = {};        ///< its precision
  std::uint64_t seed = 0;  ///< of what a course draws
  std::int64_t epoch = 0;  ///< where training is: see `Moment`
  std::int64_t step = 0;
  std::int64_t steps = 0;
  TensorMap fitted = {};     ///< what the metric of a validation has chosen, for a test
  bool origins = false;      ///< cases say where they came from
  std::int64_t batches = 0;  ///< of the loader's epoch, at most; 0: all
  /// Given the cases of every batch, in order, without gradient; empty: none. Where memory runs out
  /// in it the pass ends with a `ResourceError`: what it has made of half of them nobody knows.
  std::function<void(const Cases& cases)> on_cases = {};
  /// Rows that go through the network at once, at most, where memory has run out in a pass before;
  /// 0: the loader's batch.
  std::int64_t rows = 0;
  MemoryOwners held = {};  ///< by others, beside the networks: for words about a lack of memory
  /// Memory ran out and the pass goes on with fewer rows at once: how many, and a warning that says
  /// so; empty: nobody is told.
  std::function<void(std::int64_t rows, const std::string& warning)> on_fewer_rows = {};
};

/// Records that could not be read: no figure knows them.
struct UnreadRecords {
  std::int64_t cases = 0;
  std::string first = {};  ///< where the first came from: its file, else its number

  /// "2 of 100 records could not be read, the first dog/7.png; figures are of the other 98".
  HEADRACE_API std::string words(std::int64_t samples) const;
};

struct Evaluation {
  /// "loss" and its terms, where a forward pass made the cases and one of them counts, then those
  /// of the metric.
  Figures figures = {};
  std::int64_t samples = 0;
  TensorMap fitted = {};                                  ///< what the metric has chosen
  std::optional<models::ConfusionMatrix> confusion = {};  ///< of the metric, if it has one
  /// Where there are some, no figure of the metric is a number, and it has chosen and counted
  /// nothing.
  NoNumbers no_numbers = {};
  UnreadRecords unread = {};
  double seconds = 0.0;
  /// That all batches of the loader's epoch would take, as those behind the first took here; where
  /// all were looked at, `seconds`.
  double full_seconds = 0.0;

  /// Of the figures; not a number where there is none of that name.
  double operator[](const std::string& name) const { return figure(figures, name); }
};

/// Runs an epoch of `loader` through the network in evaluation mode, without gradients and with the
/// loader's own batch size; puts the network's mode back. Means are over rows (or what examples and
/// terms weigh), so batches may differ in size. Where memory runs out, the rows at hand go through
/// in halves, quarters, down to one row, and so do all behind them: figures are those of a loader
/// with batches so small, bit for bit where its batches would end at the same rows. Empty if `stop`
/// asked to end before it was done. Throws `ResourceError` where one row is too much, and what the
/// loader and the course throw.
HEADRACE_API std::optional<Evaluation> evaluate(const Course& course, models::Network& network,
                                                Loader& loader,
                                                const EvaluationOptions& options = {},
                                                std::stop_token stop = {});

/// A member that looks at data beside others: its network lies on the device.
struct Voter {
  const Course& course;
  models::Network& network;
  std::int64_t member = 0;  ///< its number
  TensorMap fitted = {};    ///< what its validation has chosen
};

struct JointEvaluation {
  std::vector<Evaluation> members = {};  ///< of each voter, as by itself
  std::int64_t samples = 0;              ///< that count with one of them at least
  /// Of what they say together, by `Recipe::metrics_of_vote`; empty for one voter, where the recipe
  /// or the course has nothing to vote by, and where a member gives no numbers.
  std::vector<VoteFigures> votes = {};
};

/// `evaluate()` of several members in one pass: each batch goes through all networks, and their
/// votes are counted batch by batch, so that what is held of scores is one batch of each voter.
/// Courses look at the same records. `on_cases` is given what they say together, `fitted` of the
/// options is not looked at. Empty if `stop` asked to end before it was done. Throws what
/// `evaluate()` and `Recipe::vote` throw, and `ConfigError` where members make other cases of a
/// batch.
HEADRACE_API std::optional<JointEvaluation> evaluate_together(const Recipe& recipe,
                                                              std::span<const Voter> voters,
                                                              Loader& loader,
                                                              const EvaluationOptions& options = {},
                                                              std::stop_token stop = {});

/// The same for data whose targets nobody knows, of one member or several: gives `on_cases` all
/// cases. False if `stop` asked to end before.
HEADRACE_API bool predict_together(const Recipe& recipe, std::span<const Voter> voters,
                                   Loader& loader, const EvaluationOptions& options,
                                   std::stop_token stop = {});

}  // namespace headrace::inline v1::training
