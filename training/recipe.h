#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/models/networks/network.h>
#include <headrace/monitor/memory/memory_forecast.h>
#include <headrace/training/evaluation/inference.h>
#include <headrace/training/example.h>
#include <headrace/training/loss_terms.h>
#include <headrace/training/metrics/metric.h>
#include <headrace/training/stage/stage.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// One of the networks that a recipe trains: a fold, a pair of classes.
struct Member {
  std::int64_t index = 0;
  std::string name = "run";                   ///< of its folder, "fold-0"; each has its own
  std::vector<std::int64_t> train = {};       ///< records, where the recipe divides some
  std::vector<std::int64_t> validation = {};  ///< these select weights
  std::vector<std::int64_t> test = {};        ///< these never select anything
};

enum class Split : unsigned char { train, validation, test };

/// What the trainer says of the batches it wants.
struct Feed {
  std::int64_t batch = 1;
  Device device = {};  ///< where batches are delivered
};

/// Where training is, for what depends on it.
struct Moment {
  std::int64_t epoch = 0;  ///< of the stage
  std::int64_t step = 0;   ///< of the stage, updates that were skipped not counted
  std::int64_t steps = 0;  ///< of the whole stage; 0 in a prediction
  const Stage& stage;
  bool training = false;  ///< else evaluation or prediction
  at::Device device = at::kCPU;
  Random& random;  ///< keyed by seed, member, stage, epoch and the place in the data
};

/// One member of a recipe, on its way: what is trained, on what, and how it is judged. Called by
/// the thread that trains; const, so that it holds nothing that a resumed run would lack: what
/// changes while a network learns lies in the network's buffers.
class HEADRACE_API Course {
 public:
  Course() = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  virtual ~Course() = default;

  /// Trained one after the other on one network. Default: one as it is.
  virtual std::vector<Stage> stages() const;

  /// A fresh network on the CPU. Draws from LibTorch's default generator, which was seeded.
  virtual std::unique_ptr<models::Network> network() const = 0;
  /// Looks at such a network on the device that it will be trained on, before anything starts.
  /// Throws `ConfigError`. Default: nothing is tried.
  virtual void try_network(models::Network& network, at::Device device) const;

  /// Batches to train on, in a fresh order each epoch.
  virtual Pipeline train(const Stage& stage, const Feed& feed) const = 0;
  /// Whether there are records to validate or to test with. Default: yes. Without validation the
  /// last weights are kept as the best.
  virtual bool evaluates(Split split) const;
  /// All records of the validation or the test, in order.
  virtual Pipeline evaluation(Split split, const Feed& feed) const = 0;

  /// Default: `example_of_fields`.
  virtual Example example(const Batch& batch, const Moment& moment) const;
  /// Default: the network's outputs for the one input.
  virtual Output forward(models::Network& network, const Example& example,
                         const Moment& moment) const;
  /// Scalars, computed under the stage's precision. Each is a mean over the rows that are present.
  virtual std::vector<Term> loss(const Output& output, const Example& example,
                                 const Moment& moment) const = 0;

  /// What predictions are and a vote is over. Default: the softmax of `main` over its second axis;
  /// undefined, so that there is neither, where `main` is or has one axis.
  virtual at::Tensor scores(const Output& output) const;
  /// How batches of an evaluation's split become whole cases; predictions are of the test. Default:
  /// each row is one, by one forward pass.
  virtual std::unique_ptr<Inference> inference(Split split) const;

  /// Figures of a split; null for none beside the loss. `fitted` is what the metric of the
  /// validation has chosen, for the test; else empty.
  virtual std::unique_ptr<Metric> metric(Split split, const TensorMap& fitted) const = 0;
  /// Names of the classes that these metrics count, where they are not those of the recipe's notes:
  /// of a pair of them, say. Default: none.
  virtual std::vector<std::string> class_names() const { return {}; }
  /// Default: the loss, lower is better.
  virtual Selection selected_by() const;
  /// Which way a figure of the validation gets better: a plateau must go that way. Default: what
  /// selects as it says there, the loss and its terms (`loss_...`) down, all others up.
  virtual Goal goal_of(const std::string& figure) const;

  /// Whether `pictures()` may have some. Default: no.
  virtual bool shows_pictures() const { return false; }
  /// What a person is shown of an example, uint8 `[N, H, W, 3]`, where scores of pixels have those;
  /// undefined: nothing of it can be shown.
  virtual at::Tensor pictures(const Example&) const { return {}; }
};

/// The terms of the course's loss, and behind them the losses that were made inside the network.
HEADRACE_API std::vector<Term> all_terms(const Course& course, const Output& output,
                                         const Example& example, const Moment& moment);

/// One way to decide by what members say together, and its figures over the test.
struct VoteMetric {
  std::string name = {};  ///< "soft"; empty: the only one
  std::unique_ptr<Metric> metric = {};
};

/// Why cases were decided as they were: a value for each of them.
struct Reason {
  std::string name = {};   ///< "margin"
  at::Tensor values = {};  ///< `[N]` float
};

/// What is learnt: data, members, and a course for each.
class HEADRACE_API Recipe {
 public:
  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  virtual ~Recipe() = default;

  /// Looks at the data, labels and the like but no samples, and says what they will take in memory.
  /// Called first where something is to be trained. Throws `DataError`, `ConfigError`.
  virtual monitor::MemoryForecast plan() = 0;
  /// Reads what is kept in memory, and gives the bytes that were read. Called once, before anything
  /// is trained; courses that began before see outlines of the data.
  virtual std::uint64_t open() = 0;

  /// After `plan()`. Default: one.
  virtual std::vector<Member> members() const;
  /// After `plan()`; or, for a prediction, of a member without records, but with its number and
  /// name, after `recall()`.
  virtual std::unique_ptr<Course> begin(const Member& member) const = 0;

  /// Words for a checkpoint's header, after `plan()`: "task", "network", "classes",
  /// "normalisation"; as JSON lists "class_names", for predictions, and "transient", names of
  /// tensors that an export leaves out. Predictions need them, and a checkpoint whose words differ
  /// is not resumed from.
  virtual std::map<std::string, std::string> notes() const { return {}; }
  /// After `plan()`: words that change where the number, order or labels of the records do; a
  /// checkpoint of others is not resumed from. Empty: nothing is known of them.
  virtual std::string records_word() const { return {}; }
  /// For a prediction, in place of `plan()`: what the notes of a checkpoint say of training data
  /// that need not be here. Throws `CheckpointError` for notes that it cannot go by.
  virtual void recall(const std::map<std::string, std::string>& notes);

  /// Before `prediction()` and `test_on()`: the folder that paths of a list of records are below,
  /// where it is not as in training. Throws `ConfigError` by default: there are no lists.
  virtual void set_root(const std::filesystem::path& root);

  /// Batches of data whose targets nobody knows. Throws `ConfigError` by default: there is no such
  /// data.
  virtual Pipeline prediction(const std::filesystem::path& data, const Feed& feed) const;

  /// For an evaluation, in place of `open()` and after `recall()`: reads labelled data, which are
  /// then the test of the courses that begin, and gives its records for `Member::test`, where the
  /// recipe divides some. `split` is a part of the data by the recipe's names for them, "all" for
  /// all; empty for their test where they have one, else for all. Throws `DataError`, and
  /// `ConfigError` for a part that there is not; by default always: nothing is known to compare
  /// with.
  virtual std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                            const std::string& split);

  /// Records of the test that these members, all that are done, look at together: what their vote
  /// and the look back at the test are over; nothing where they cannot. Default: their test where
  /// it is the same for all.
  virtual std::optional<std::vector<std::int64_t>> common_test(std::span<const Member> done) const;
  /// What members say together of the same cases, for the test and for predictions alike: each with
  /// its number, in that order, and in the same order what its validation has chosen, which may be
  /// nothing. Predictions may be of some members, or one, and then come batch by batch; a recipe
  /// that needs all of them throws `ConfigError`. What metrics and reasons need beside the scores
  /// is left in `Cases::output`, "pairs" of its `extra`, say. Default: the mean of their scores,
  /// without an output; throws for no member or other cases.
  virtual Cases vote(std::span<const Cases> of_members, std::span<const TensorMap> fitted) const;
  /// Figures of a vote over the test, with what each member's validation has fitted; null for none.
  /// Default: the test's metric of a member without records.
  virtual std::unique_ptr<Metric> metric_of_vote(std::span<const TensorMap> fitted) const;
  /// The same of several ways to decide; the first is the one that decides, and each has a name
  /// where there are several. Default: `metric_of_vote` alone, none where that is null.
  virtual std::vector<VoteMetric> metrics_of_vote(std::span<const TensorMap> fitted) const;
  /// Why cases that were voted on were decided as they were; the same names for all cases of a
  /// pass. Default: none.
  virtual std::vector<Reason> reasons(const Cases& voted) const;
  /// The class of each case, int64 `[N]`, or for each of its classes whether it is there, bool `[N,
  /// classes]`, of one member's scores or a vote's, `[N, classes]`. Default: the largest.
  virtual at::Tensor predicted(const at::Tensor& scores, std::span<const TensorMap> fitted) const;
};

/// The recipe's members. Throws `ConfigError` for none, and for names that are not folders of their
/// own.
HEADRACE_API std::vector<Member> members_of(const Recipe& recipe);

}  // namespace headrace::inline v1::training
