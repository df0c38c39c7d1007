#include "trainer_run.h"

using namespace headrace::training;

TEST_CASE("a run stopped after any step and resumed ends with the same weights, bit for bit") {
  const OneThread one_thread;
  for (const std::int64_t accumulation : {1, 3}) {
    Setup options = three_epochs();
    options.stage.accumulation = accumulation;
    options.stage.clip_norm = 1.0;
    Run whole(options);
    const RunResult uninterrupted = whole.trainer.run();
    const std::int64_t steps = whole.trainer.progress().step;

    for (std::int64_t last = 1; last <= steps; last += 2) {
      CAPTURE(accumulation);
      CAPTURE(last);
      const TemporaryFolder folder;
      CheckpointStore store(folder.path());
      std::stop_source stop;
      {
        Run first(options,
                  {.on_step =
                       [&](const StepReport& step) {
                         if (step.step == last) stop.request_stop();
                       }},
                  &store);
        CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
        CHECK(first.trainer.progress().step == last);
      }
      Run second(options, {}, &store, 99);
      second.trainer.restore(*store.load_latest());
      const RunResult resumed = second.trainer.run();
      CHECK((resumed.status == uninterrupted.status));
      CHECK((resumed.progress == uninterrupted.progress));
      check_same_weights(*whole.network, *second.network);
    }
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
