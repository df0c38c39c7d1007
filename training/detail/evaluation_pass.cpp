#include <headrace/engine/base/error.h>
#include <headrace/training/autocast.h>
#include <headrace/training/detail/evaluation_pass.h>

#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>

namespace headrace::inline v1::training::detail {

namespace {

class EvaluationMode {
 public:
  explicit EvaluationMode(models::Network& network)
      : network_(network), before_(network.is_training()) {
    network_.set_training(false);
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  ~EvaluationMode() { network_.set_training(before_); }

 private:
  models::Network& network_;
  bool before_;
};

}  // namespace

EvaluationPass::EvaluationPass(std::span<const Voter> voters, const EvaluationOptions& options,
                               Look look)
    : voters_(voters),
      options_(options),
      look_(std::move(look)),
      moment_{.epoch = options.epoch,
              .step = options.step,
              .steps = options.steps,
              .stage = options.stage,
              .device = options.device,
              .random = random_} {
  for (const Voter& voter : voters_)
    inferences_.push_back(voter.course.inference());
}

bool EvaluationPass::run(Loader& loader, const std::stop_token& stop) {
  const at::NoGradGuard no_gradient;
  std::deque<EvaluationMode> modes;
  for (const Voter& voter : voters_)
    modes.emplace_back(voter.network);
  const auto start = std::chrono::steady_clock::now();
  all_ = loader.batches_per_epoch();
  while (options_.batches == 0 || seen_ < options_.batches) {
    if (stop.stop_requested()) return false;
    const NextBatch next = loader.next(std::chrono::nanoseconds::max(), stop);
    if (next.status == NextBatch::Status::stopped) return false;
    if (next.status == NextBatch::Status::end) break;
    see(next.batch);
    if (++seen_ > 1) continue;
    first_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::vector<std::vector<Cases>> open;
  for (const auto& inference : inferences_)
    open.push_back(inference->finish());
  show(std::move(open));
  return true;
}

double EvaluationPass::full_seconds(double seconds) const {
  if (seen_ == 0 || seen_ >= all_) return seconds;
  const double of_others =
      seen_ == 1 ? seconds : (seconds - first_seconds_) / static_cast<double>(seen_ - 1);
  return seconds + of_others * static_cast<double>(all_ - seen_);
}

void EvaluationPass::see(const Batch& batch) {
  std::vector<std::vector<Cases>> of_each;
  for (std::size_t number = 0; number < voters_.size(); ++number)
    of_each.push_back(ask(number, batch));
  show(std::move(of_each));
}

std::vector<Cases> EvaluationPass::ask(std::size_t number, const Batch& batch) {
  const Voter& voter = voters_[number];
  random_ = Random({.seed = options_.seed,
                    .loader = hash_name("evaluation of " + options_.stage.name +
                                        (options_.split == Split::test ? ", test" : "")),
                    .epoch = options_.epoch,
                    .position = batch.position_after().position});
  Example example = voter.course.example(batch, moment_);
  example.rows = counted_rows(example);
  const auto predict = [&](const Example& one) {
    const Autocast autocast(options_.stage.precision, options_.device.type());
    Output output = voter.course.forward(voter.network, one, moment_);
    at::Tensor scores = voter.course.scores(output);
    return Prediction{.output = std::move(output), .scores = std::move(scores)};
  };
  std::vector<Cases> all = inferences_[number]->add(std::move(example), batch, predict);
  for (Cases& cases : all) {
    cases.member = voter.member;
    if (options_.origins && cases.are_rows) cases.origins = batch.origins();
  }
  return all;
}

void EvaluationPass::show(std::vector<std::vector<Cases>> of_each) {
  const std::size_t count = of_each.empty() ? 0 : of_each.front().size();
  for (const std::vector<Cases>& one : of_each)
    if (one.size() != count)
      throw ConfigError("[evaluation] all members must make as many cases of a batch, got " +
                        std::to_string(one.size()) + " beside " + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Cases> same;
    for (std::vector<Cases>& one : of_each) {
      same.push_back(std::move(one[i]));
      same.back().first = cases_;
    }
    cases_ += case_count(same.front());
    look_(same, moment_);
  }
}

}  // namespace headrace::inline v1::training::detail
