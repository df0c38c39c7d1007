#include "trainer_run.h"

using namespace headrace::training;

namespace {

// A process that was stopped, and one that goes on with the same setup but for its loader: batches
// ready ahead and threads are others. Says whether the second ended as `whole` did.
void check_resumed(const Setup& setup, CheckpointStore& store, const Run& whole,
                   const RunResult& uninterrupted) {
  Setup other = setup;
  other.loader = {.prefetch = 1, .runtime = headrace::Runtime({.threads = 3})};
  Run second(other, {}, &store, 99);
  second.trainer.restore(*store.load_latest());
  const RunResult resumed = second.trainer.run();
  CHECK((resumed.status == uninterrupted.status));
  CHECK((resumed.progress == uninterrupted.progress));
  check_same_weights(*whole.network, *second.network);
}

Setup accumulating(std::int64_t micro_batches) {
  Setup setup = three_epochs();
  setup.stage.accumulation = micro_batches;
  setup.stage.clip_norm = 1.0;
  return setup;
}

}  // namespace

TEST_CASE("a run stopped after any step and resumed ends with the same weights, bit for bit") {
  const OneThread one_thread;
  for (const std::int64_t accumulation : {1, 3}) {
    const Setup setup = accumulating(accumulation);  // of three: the last window of an epoch is one
    Run whole(setup);
    const RunResult uninterrupted = whole.trainer.run();
    const std::int64_t steps = whole.trainer.progress().step;
    CHECK(steps == (accumulation == 1 ? 21 : 9));

    for (std::int64_t last = 1; last <= steps; ++last) {
      CAPTURE(accumulation);
      CAPTURE(last);
      const TemporaryFolder folder;
      CheckpointStore store(folder.path());
      std::stop_source stop;
      {
        Run first(setup,
                  {.on_step =
                       [&](const StepReport& step) {
                         if (step.step == last) stop.request_stop();
                       }},
                  &store);
        CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
        CHECK(first.trainer.progress().step == last);
      }
      check_resumed(setup, store, whole, uninterrupted);
    }
  }
}

TEST_CASE("a run asked to stop inside any window finishes that step, and resumed ends the same") {
  const OneThread one_thread;
  const Setup setup = accumulating(3);
  Run whole(setup);
  const RunResult uninterrupted = whole.trainer.run();
  constexpr std::int64_t micro_batches_of_epoch = 7;

  for (std::int64_t last = 1; last <= 3 * micro_batches_of_epoch; ++last) {
    CAPTURE(last);
    const TemporaryFolder folder;
    CheckpointStore store(folder.path());
    std::stop_source stop;
    std::int64_t micro_batches = 0;
    Setup stopping = setup;
    stopping.course.loss = [&](const at::Tensor& logits, const at::Tensor& target,
                               const at::Tensor& present) {
      if (logits.requires_grad() && ++micro_batches == last) stop.request_stop();
      return loss_of_rows(logits, target, present);
    };
    {
      Run first(stopping, {}, &store);
      CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
      const std::int64_t in_epoch = (last - 1) % micro_batches_of_epoch;
      CHECK(first.trainer.progress().step ==
            (last - 1) / micro_batches_of_epoch * 3 + in_epoch / 3 + 1);
    }
    check_resumed(setup, store, whole, uninterrupted);
  }
}

TEST_CASE("a resumed run that forgot a part of its state ends with other weights") {
  const OneThread one_thread;
  Run whole(three_epochs());
  whole.trainer.run();
  std::stop_source stop;
  Run first(three_epochs(), {.on_step = [&](const StepReport& step) {
              if (step.step == 10) stop.request_stop();
            }});
  first.trainer.run(stop.get_token());
  const Checkpoint good = first.trainer.checkpoint();

  const auto ends_the_same = [&](const Checkpoint& checkpoint) {
    Run second(three_epochs(), {}, nullptr, 99);
    second.trainer.restore(checkpoint);
    second.trainer.run();
    return same_weights(*whole.network, *second.network);
  };
  CHECK(ends_the_same(good));
  Checkpoint without_rng = good;
  without_rng.rng.clear();
  CHECK_FALSE(ends_the_same(without_rng));
  Checkpoint elsewhere = good;
  elsewhere.progress.position.position -= 8;
  CHECK_FALSE(ends_the_same(elsewhere));
  Checkpoint without_moments = good;
  for (auto& [name, tensor] : without_moments.optimizer)
    tensor = at::zeros_like(tensor);
  CHECK_FALSE(ends_the_same(without_moments));
}

TEST_CASE("a run stopped while it evaluates goes on with that evaluation") {
  const OneThread one_thread;
  Run whole(three_epochs());
  whole.trainer.run();

  std::stop_source stop;
  const Setup options = three_epochs();
  Run first(options, {.on_step = [&](const StepReport& step) {
              if (step.step == 7) stop.request_stop();
            }});
  first.trainer.run(stop.get_token());
  Checkpoint at_the_end = first.trainer.checkpoint();
  CHECK(at_the_end.progress.samples == 50);
  at_the_end.progress.trained = true;

  Run second(options, {}, nullptr, 99);
  second.trainer.restore(at_the_end);
  std::stop_source at_once;
  at_once.request_stop();
  CHECK((second.trainer.run(at_once.get_token()).status == RunStatus::interrupted));
  CHECK(second.trainer.progress().trained);
  second.trainer.run();
  check_same_weights(*whole.network, *second.network);
}

TEST_CASE("a checkpoint of another configuration is refused") {
  Run first(three_epochs());
  Setup other = three_epochs();
  other.options.identity = {{"config", "b"}};
  Run second(other);
  CHECK_THROWS_AS(second.trainer.restore(first.trainer.checkpoint()), CheckpointError);
}
