#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/memory/memory_report.h>
#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/stage/stage_checks.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <algorithm>
#include <string>
#include <vector>

// What is done where memory runs out in a step: the step is done again, from where it began, with
// smaller micro-batches, then with activations made again. Neither is taken back in the stage: what
// was too much once will be so again.
namespace headrace::inline v1::training {

namespace {

// Pieces of at most `most` rows of those that there are, none with fewer than `least`: the ends
// that there were stay ends.
std::vector<std::int64_t> with_ends(const std::vector<std::int64_t>& ends, std::int64_t most,
                                    std::int64_t least) {
  std::vector<std::int64_t> more{ends.front()};
  for (std::size_t i = 1; i < ends.size(); ++i) {
    while (ends[i] - more.back() > most) {
      const std::int64_t end = std::min(more.back() + most, ends[i] - least);
      if (end - more.back() < least) break;
      more.push_back(end);
    }
    more.push_back(ends[i]);
  }
  return more;
}

std::int64_t half_of(std::int64_t rows) {
  return (rows + 1) / 2;
}

std::string row_words(std::int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

// Rows of the stage's batch that go through the network at once, at most.
std::int64_t Trainer::Loop::micro_batch() const {
  const std::vector<std::int64_t> ends = ends_of(parts_.stage.batch);
  std::int64_t most = 0;
  for (std::size_t i = 1; i < ends.size(); ++i)
    most = std::max(most, ends[i] - ends[i - 1]);
  return most;
}

// Where micro-batches of a batch end, from 0 on: those that a loader with the smaller batch would
// make, so that a short batch is cut as that loader's.
std::vector<std::int64_t> Trainer::Loop::ends_of(std::int64_t rows) const {
  std::vector<std::int64_t> ends{0, rows};
  std::int64_t most = parts_.stage.batch;
  for (int i = 0; i < progress_.halvings; ++i)
    ends = with_ends(ends, most = half_of(most), least_rows());
  return ends;
}

// Norms over the batch need two values a channel, and deep in a network a row has but one.
std::int64_t Trainer::Loop::least_rows() const {
  return !has_batch_norms(parts_.network) || parts_.stage.frozen_norms ? 1 : 2;
}

void Trainer::Loop::keep_start() {
  start_.reset();
  start_ = Start{.position = progress_.position, .rng = capture_rng_state()};
}

void Trainer::Loop::drop_step() {
  update_.drop();
  if (!start_) return;  // not even the start could be kept: nothing was begun
  if (start_->kept) buffers_.restore(progress_.step + 1);
  restore_rng_state(start_->rng);
  progress_.position = start_->position;
  parts_.train.seek(progress_.position);
  start_.reset();
}

void Trainer::Loop::step_down(const std::string& lack) {
  const std::string report = report_of("step " + std::to_string(progress_.step + 1), lack);
  drop_step();
  release_unused_memory(options_.device);
  std::string done;
  if (take_smaller_micro_batches()) {
    done = "the step is done again with micro-batches of " + smaller_batch_words();
  } else {
    if (progress_.checkpointed || parts_.network.blocks().empty()) give_up(report);
    progress_.checkpointed = true;
    parts_.network.checkpoint({"*"});
    done =
        "the step is done again with activations of all blocks made again; to begin so, set "
        "training.checkpointed: [\"*\"]";
  }
  if (callbacks_.on_warning) callbacks_.on_warning(report + "; " + done);
}

// Halves those of the stage once, also where the batch at hand is so short that it is not cut by
// that: it may fit now that memory was given back. False where they do not become smaller.
bool Trainer::Loop::take_smaller_micro_batches() {
  const std::int64_t rows = micro_batch();
  ++progress_.halvings;
  if (micro_batch() < rows) return true;
  --progress_.halvings;
  return false;
}

std::string Trainer::Loop::smaller_batch_words() const {
  const std::int64_t rows = micro_batch();
  const std::int64_t batch = parts_.stage.batch;
  const std::string words = row_words(rows) + ", the same effective batch; to begin so, ";
  if (batch % rows != 0)
    return "at most " + words + "take a smaller training.batch and a larger training.accumulation";
  return words + "set training.batch=" + std::to_string(rows) +
         ", training.accumulation=" + std::to_string(parts_.stage.accumulation * (batch / rows));
}

// A reload leads back to a checkpoint from before memory ran out: what was learnt of it stays.
void Trainer::Loop::keep_memory_plan(const Progress& before) {
  progress_.halvings = std::max(progress_.halvings, before.halvings);
  progress_.checkpointed = progress_.checkpointed || before.checkpointed;
  if (before.evaluation_rows > 0)
    progress_.evaluation_rows = progress_.evaluation_rows > 0
                                    ? std::min(progress_.evaluation_rows, before.evaluation_rows)
                                    : before.evaluation_rows;
  if (progress_.checkpointed) parts_.network.checkpoint({"*"});
}

void Trainer::Loop::give_up(const std::string& report) {
  save_at_last();
  throw ResourceError(report + "; " + row_words(micro_batch()) +
                      " at once, with what can be made again, is too much: take a smaller network "
                      "or smaller inputs, or a lower precision");
}

// What is whole now, so that the run goes on from here where there is more memory.
void Trainer::Loop::save_at_last() {
  release_unused_memory(options_.device);
  try {
    behind_step([this] { save(true); });
  } catch (const std::exception& error) {
    if (callbacks_.on_warning)
      callbacks_.on_warning("the checkpoint before stays: " + first_line(error));
  }
}

// For what changes nothing where it throws: it cannot be left out, and the step that it follows is
// not done again.
void Trainer::Loop::behind_step(const std::function<void()>& work) {
  const std::optional<std::string> lack = lack_in(work);
  if (!lack) return;
  release_unused_memory(options_.device);
  if (callbacks_.on_warning)
    callbacks_.on_warning(report_of("what follows step " + std::to_string(progress_.step), *lack) +
                          "; it is tried once more with what could be given back");
  work();
}

std::string Trainer::Loop::report_of(const std::string& who, const std::string& lack) const {
  return report_of_lack(who, lack, options_.device, owners_of(state()));
}

StateBytes Trainer::Loop::state() const {
  return state_bytes(parts_.network, parts_.optimizer, average_ ? &*average_ : nullptr);
}

}  // namespace headrace::inline v1::training
