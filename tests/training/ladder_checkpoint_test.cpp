// What runs that found no memory leave in their checkpoints, and how they go on.
#include <headrace/training/checkpoint/checkpoint_store.h>

#include "ladder_run.h"

using namespace headrace::training;
using headrace::test::above;
using headrace::test::nth;
using headrace::test::Refusal;

TEST_CASE("micro-batches stay small in a run that goes on from a checkpoint") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  Ladder setup;
  setup.stage.epochs = 2;
  CheckpointStore store(folder.path());
  const Ended halved = LadderRun(smaller(setup)).end();
  {
    LadderRun first(setup, &store);
    std::stop_source stop;
    first.on_step = [&](const StepReport& report) {
      if (report.step == 3) stop.request_stop();
    };
    const Refusal refusal(above(120 * 1024));  // four rows and a half
    CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
  }
  LadderRun second(setup, &store);
  second.trainer.restore(*store.load_latest());
  CHECK(second.trainer.progress().halvings == 1);
  const Ended ended = second.end();
  CHECK(second.course.most_rows == 4);
  CHECK(second.warnings.empty());
  for (const auto& [name, tensor] : halved.tensors) {
    CAPTURE(name);
    CHECK(at::equal(tensor, ended.tensors.at(name)));
  }
}

TEST_CASE("where one row is too much the run ends with a checkpoint from which it goes on") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  const Ladder setup;
  CheckpointStore store(folder.path());
  {
    LadderRun first(setup, &store);
    std::uint64_t most = 1U << 30U;
    const Refusal refusal([&](std::uint64_t bytes) { return bytes > most; });
    first.on_step = [&](const StepReport& report) {
      if (report.step == 2) most = 20 * 1024;
    };
    CHECK_THROWS_WITH_AS(first.trainer.run(),
                         doctest::Contains("1 row at once, with what can be made again, is too "
                                           "much: take a smaller network or smaller inputs"),
                         headrace::ResourceError);
    CHECK(first.trainer.progress().step == 2);
  }
  const Checkpoint last = *store.load_latest();
  CHECK(last.progress.step == 2);
  CHECK(last.progress.halvings == 3);
  CHECK(last.progress.checkpointed);

  LadderRun second(setup, &store);
  second.trainer.restore(last);
  second.figures = behind(setup, 2).second;
  const Ended ended = second.end();
  CHECK((ended == cut_behind(setup, 2, 3)));
}

TEST_CASE("rows of a step that is given up are counted once, in the run that goes on, too") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  Ladder setup;
  setup.draws = false;
  setup.stage.accumulation = 2;
  CheckpointStore store(folder.path());
  {
    LadderRun first(setup, &store);
    const Refusal refusal([&, large = 0](std::uint64_t bytes) mutable {
      return first.coming == 3 && bytes > 20 * 1024 && ++large > 30;
    });
    CHECK_THROWS_AS(first.trainer.run(), headrace::ResourceError);
  }
  const Checkpoint last = *store.load_latest();
  CHECK(last.progress.step == 2);
  CHECK(last.progress.samples == 32);
  // The first batch of the third step was counted before the second found no memory.
  CHECK(last.counters.at("metric/confusion").sum().item<std::int64_t>() == 32 + 8);

  LadderRun second(setup, &store);
  second.trainer.restore(last);
  second.figures = behind(setup, 2).second;
  const Ended ended = second.end();
  CHECK((ended == cut_behind(setup, 2, 3)));
}

TEST_CASE("the checkpoint of a run that gives up is tried once more where its copy finds none") {
  const OneThread one_thread;
  const Ladder setup;
  std::int64_t copied = 1;  // tensors of the save
  for (std::int64_t n = 1; n <= copied; ++n) {
    CAPTURE(n);
    const TemporaryFolder folder;
    CheckpointStore store(folder.path());
    LadderRun run(setup, &store);
    bool given_up = false;
    std::int64_t count = 0;
    {
      const Refusal refusal([&](std::uint64_t bytes) {
        if (run.coming == 3 && bytes > 20 * 1024) {
          given_up = run.warnings.size() == 4;  // micro-batches of 4, 2 and 1, then all blocks
          return true;
        }
        return given_up && ++count == n;
      });
      CHECK_THROWS_WITH_AS(run.trainer.run(), doctest::Contains("1 row at once"),
                           headrace::ResourceError);
    }
    if (n == 1) copied = count - 1;
    CHECK(run.warned_of("what follows step 2 ran out"));
    CHECK(store.load_latest()->progress.step == 2);
  }
  CHECK(copied > 2);
}

TEST_CASE("parameters that join behind an epoch join where memory is found at the second try") {
  const OneThread one_thread;
  Ladder setup;
  setup.stage.epochs = 2;
  setup.stage.frozen = {"first"};
  setup.stage.unfreeze = {{.at = 1, .patterns = {"first"}}};
  const Ended whole = LadderRun(setup).end();
  int refused = 0;
  for (bool all_seen = false; !all_seen; ++refused) {
    CAPTURE(refused);
    LadderRun run(setup);
    int count = 0;
    Ended ended;
    {
      // Behind the evaluation of the first epoch.
      const Refusal refusal([&](std::uint64_t) {
        const Progress& now = run.trainer.progress();
        return now.epoch == 1 && now.step == 7 && run.coming == 0 && ++count == refused + 1;
      });
      ended = run.end();
    }
    all_seen = count <= refused;
    CHECK(run.warned_of("it is tried once more") != all_seen);
    CHECK((ended == whole));
  }
  CHECK(refused > 3);  // two moments and a count of steps
}

TEST_CASE("a checkpoint whose copy finds no memory is written all the same") {
  const OneThread one_thread;
  const Ladder setup;
  const Ended whole = LadderRun(setup).end();
  const TemporaryFolder counted;
  CheckpointStore counting(counted.path());
  const std::int64_t in_step = tensors_in(setup, 1);
  // The save lies between the report of the first step and what the second step begins with.
  const std::int64_t more = tensors_in(setup, 2, &counting) - tensors_in(setup, 2);
  CHECK(more > 10);
  for (std::int64_t n = in_step + 1; n <= in_step + more; ++n) {
    CAPTURE(n);
    const TemporaryFolder folder;
    CheckpointStore store(folder.path());
    LadderRun run(setup, &store);
    Ended ended;
    {
      const Refusal refusal(nth(n));
      ended = run.end();
    }
    CHECK(store.load_latest()->progress.step == 7);
    CHECK(run.warned_of("what follows step 1 ran out"));
    CHECK(run.warned_of("it is tried once more with what could be given back"));
    CHECK((ended == whole));
  }
}

TEST_CASE("a lack of memory that a reload leads back over is not forgotten") {
  const OneThread one_thread;
  Ladder setup;
  LadderRun run(setup);
  Checkpoint before = run.trainer.checkpoint();
  Checkpoint after = before;
  after.progress.halvings = 2;
  after.progress.checkpointed = true;
  after.progress.evaluation_rows = 3;
  run.trainer.restore(after);
  before.progress.evaluation_rows = 5;
  run.trainer.restore(before);
  CHECK(run.trainer.progress().halvings == 2);
  CHECK(run.trainer.progress().checkpointed);
  CHECK(run.trainer.progress().evaluation_rows == 3);
}

TEST_CASE("a validation that finds no memory leaves the training as it was, and stays small") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  Ladder setup;
  setup.stage.epochs = 2;
  setup.draws = false;  // else they would go on from where a smaller batch's draws end
  const Ended whole = LadderRun(setup).end();
  LadderRun run(setup, &store);
  Ended ended;
  {
    const Refusal refusal([&](std::uint64_t bytes) {
      return !run.network->is_training() && bytes > 120 * 1024;  // more than four rows
    });
    ended = run.end();
  }
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warned_of("set training.evaluation_batch=4"));
  CHECK(run.trainer.progress().evaluation_rows == 4);
  CHECK(run.trainer.progress().halvings == 0);
  CHECK(store.load_latest()->progress.evaluation_rows == 4);
  for (const auto& [name, tensor] : whole.tensors) {
    CAPTURE(name);
    CHECK(at::equal(tensor, ended.tensors.at(name)));
  }
}

TEST_CASE("a validation of which one row is too much ends the run with a checkpoint before it") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  const Ladder setup;
  const Ended whole = LadderRun(setup).end();
  {
    LadderRun run(setup, &store);
    const Refusal refusal(
        [&](std::uint64_t bytes) { return !run.network->is_training() && bytes > 20 * 1024; });
    CHECK_THROWS_AS(run.trainer.run(), headrace::ResourceError);
  }
  const Checkpoint last = *store.load_latest();
  CHECK(last.progress.trained);
  CHECK(last.progress.step == 7);
  LadderRun second(setup, &store);
  second.trainer.restore(last);
  const Ended ended = second.end();
  for (const auto& [name, tensor] : whole.tensors) {
    CAPTURE(name);
    CHECK(at::equal(tensor, ended.tensors.at(name)));
  }
}
