#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/evaluation/detail/evaluation_pass.h>
#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/optimizer/autocast.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
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
                               Looks looks)
    : voters_(voters),
      options_(options),
      looks_(std::move(looks)),
      looked_(looks_.each.size()),
      moment_{.epoch = options.epoch,
              .step = options.step,
              .steps = options.steps,
              .stage = options.stage,
              .device = options.device,
              .random = random_} {
  for (const Voter& voter : voters_)
    voices_.push_back({.inference = voter.course.inference(options_.split)});
  if (options.rows > 0) most_rows_ = options.rows;
}

bool EvaluationPass::run(Loader& loader, const std::stop_token& stop) {
  bool done = false;
  const auto lack = lack_in([&] { done = run_batches(loader, stop); });
  if (lack)
    throw ResourceError(report_of(*lack) +
                        "; what follows the network cannot be done with fewer rows: begin with a "
                        "smaller training.evaluation_batch");
  return done;
}

bool EvaluationPass::run_batches(Loader& loader, const std::stop_token& stop) {
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
  if (options_.batches == 0 || seen_ >= all_) finish();
  return true;
}

double EvaluationPass::full_seconds(double seconds) const {
  if (seen_ == 0 || seen_ >= all_) return seconds;
  const double of_others =
      seen_ == 1 ? seconds : (seconds - first_seconds_) / static_cast<double>(seen_ - 1);
  return seconds + of_others * static_cast<double>(all_ - seen_);
}

void EvaluationPass::see(const Batch& batch) {
  for (Voice& voice : voices_) {
    voice.asked = 0;
    voice.made = 0;
  }
  if (batch.size() == 0) ask_all(batch, {});
  see_rows(batch, {.first = 0, .last = batch.size()});
  require_same_cases();
}

// Pieces that were too large are cut anew, within their ends: who has looked at one of them has
// looked at some of its parts, whole.
void EvaluationPass::see_rows(const Batch& batch, BatchRows rows) {
  while (rows.first < rows.last) {
    const BatchRows piece{.first = rows.first,
                          .last = rows.first + std::min(rows.last - rows.first, most_rows_)};
    TensorMap generators;
    const auto lack = lack_in([&] {
      generators = capture_rng_state();
      ask_all(batch, piece);
    });
    if (lack) {
      restore_rng_state(generators);
      take_fewer(piece, *lack);
      see_rows(batch, piece);
    }
    rows.first = piece.last;
  }
}

void EvaluationPass::ask_all(const Batch& batch, BatchRows rows) {
  for (std::size_t number = 0; number < voices_.size(); ++number) {
    Voice& voice = voices_[number];
    if (voice.asked > rows.first) continue;  // before memory ran out
    std::vector<Cases> cases = ask(number, batch, rows);
    voice.asked = rows.last;
    voice.made += cases.size();
    std::ranges::move(cases, std::back_inserter(voice.waiting));
  }
  show();
}

// What rows have become by themselves is asked again; what an inference has put together is kept.
void EvaluationPass::take_fewer(BatchRows rows, const std::string& lack) {
  const std::string report = report_of(lack);
  for (Voice& voice : voices_) {
    if (voice.waiting.empty() || !voice.waiting.front().are_rows) continue;
    voice.made -= voice.waiting.size();
    voice.waiting.clear();
    voice.asked = rows.first;
  }
  release_unused_memory(options_.device);
  if (rows.last - rows.first <= 1)
    throw ResourceError(report +
                        "; one row at once is too much: take smaller inputs, a smaller network or "
                        "a lower precision");
  most_rows_ = (rows.last - rows.first + 1) / 2;
  const std::string count = std::to_string(most_rows_);
  if (options_.on_fewer_rows)
    options_.on_fewer_rows(most_rows_, report + "; it goes on with " + count +
                                           " rows at once; to begin so, set "
                                           "training.evaluation_batch=" +
                                           count);
}

std::vector<Cases> EvaluationPass::ask(std::size_t number, const Batch& batch, BatchRows rows) {
  const Voter& voter = voters_[number];
  random_ = Random({.seed = options_.seed,
                    .loader = hash_name("evaluation of " + options_.stage.name +
                                        (options_.split == Split::test ? ", test" : "")),
                    .epoch = options_.epoch,
                    .position = position_behind(batch, rows)});
  const Batch piece = rows_of(batch, rows);
  Example example = voter.course.example(piece, moment_);
  example.rows = counted_rows(example);
  const auto predict = [&](const Example& one) {
    const Autocast autocast(options_.stage.precision, options_.device.type());
    Output output = voter.course.forward(voter.network, one, moment_);
    at::Tensor scores = voter.course.scores(output);
    return Prediction{.output = std::move(output), .scores = std::move(scores)};
  };
  std::vector<Cases> all = voices_[number].inference->add(std::move(example), piece, predict);
  for (Cases& cases : all) {
    cases.member = voter.member;
    if (!cases.are_rows) continue;
    cases.rows = piece.row_origins();
    cases.unread = unread_rows(piece);
    if (options_.origins) cases.origins = cases.rows.list();
  }
  return all;
}

// Cases that are still open behind the loader's last batch.
void EvaluationPass::finish() {
  for (Voice& voice : voices_) {
    std::vector<Cases> open = voice.inference->finish();
    voice.made = open.size();
    std::ranges::move(open, std::back_inserter(voice.waiting));
  }
  try_twice(options_.device, [this] { show(); });
  require_same_cases();
}

// Cases that all voters have. Who has looked at some before memory ran out does not again.
void EvaluationPass::show() {
  const auto none = [](const Voice& voice) { return voice.waiting.empty(); };
  while (!voices_.empty() && std::ranges::none_of(voices_, none)) {
    std::vector<Cases> same;
    for (const Voice& voice : voices_) {
      same.push_back(voice.waiting.front());
      same.back().first = cases_;
    }
    const std::int64_t behind = cases_ + case_count(same.front());
    for (std::size_t i = 0; i < looked_.size(); ++i) {
      if (looked_[i] > cases_) continue;
      looks_.each[i](same, moment_);
      looked_[i] = behind;
    }
    cases_ = behind;
    for (Voice& voice : voices_)
      voice.waiting.pop_front();
  }
}

void EvaluationPass::require_same_cases() const {
  for (const Voice& voice : voices_)
    if (voice.made != voices_.front().made)
      throw ConfigError("[evaluation] all members must make as many cases of a batch, got " +
                        std::to_string(voice.made) + " beside " +
                        std::to_string(voices_.front().made));
}

std::string EvaluationPass::report_of(const std::string& lack) const {
  MemoryOwners owners = options_.held;
  std::uint64_t weights = 0;
  for (const Voter& voter : voters_)
    weights += weight_bytes(voter.network);
  owners.push_back({.name = "weights", .bytes = weights});
  return report_of_lack(looks_.who, lack, options_.device, std::move(owners));
}

}  // namespace headrace::inline v1::training::detail
