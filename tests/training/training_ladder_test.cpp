// Where memory runs out in a step: it is done again with smaller micro-batches, and comes to what a
// run comes to that began with them.
#include "ladder_run.h"

#include <random>
#include <set>

using namespace headrace::training;
using headrace::test::above;
using headrace::test::nth;
using headrace::test::Refusal;
using headrace::test::tensors_made_by;

namespace {

constexpr const char* done_again = "the step is done again";
constexpr std::int64_t few = 26;  // the last batch of 8 has two, as that of 50

// A run in whose step the n-th tensor is refused.
struct Refused {
  Refused(const Ladder& setup, std::int64_t n, std::int64_t step = 1) : run(setup) {
    const Refusal refusal([this, n, step, count = std::int64_t{0}](std::uint64_t) mutable {
      return run.coming == step && ++count == n;
    });
    ended = run.end();
  }
  LadderRun run;
  Ended ended;
};

// Refuses tensors of the first step, each of `seeds` another one; says how many steps were done
// again.
int check_first_step(const Ladder& setup, int seeds) {
  const Ended whole = LadderRun(setup).end();
  const Ended halved = LadderRun(smaller(setup)).end();
  CHECK_FALSE((whole == halved));
  const std::int64_t count = tensors_in(setup, 1);
  std::minstd_rand draw(11);
  int again = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::int64_t n = 1 + static_cast<std::int64_t>(draw()) % count;
    CAPTURE(n);
    const Refused one(setup, n);
    CHECK(one.run.warnings.size() == 1);
    const bool begun_anew = one.run.warned_of(done_again);
    again += static_cast<int>(begun_anew);
    CHECK((one.ended == (begun_anew ? halved : whole)));
  }
  return again;
}

}  // namespace

TEST_CASE("whichever tensor of a step is refused, the run ends as one with half the micro-batch") {
  const OneThread one_thread;
  const Ladder setup{.samples = few};
  const Ended whole = LadderRun(setup).end();
  const Ended halved = LadderRun(smaller(setup)).end();
  CHECK_FALSE((whole == halved));
  const std::int64_t count = tensors_in(setup, 1);
  std::set<bool> seen;
  for (std::int64_t n = 1; n <= count; ++n) {
    CAPTURE(n);
    const Refused one(setup, n);
    CHECK(one.run.warnings.size() == 1);
    const bool begun_anew = one.run.warned_of(done_again);
    seen.insert(begun_anew);
    CHECK((one.ended == (begun_anew ? halved : whole)));
    CHECK(one.run.trainer.progress().halvings == static_cast<int>(begun_anew));
  }
  CHECK(seen.size() == 2);  // some were behind the step, which was not done twice
}

TEST_CASE("the same for other rules, precisions and windows of several batches") {
  const OneThread one_thread;
  Ladder setup{.samples = few};
  int seeds = 25;
  SUBCASE("three batches a step") {
    setup.stage.accumulation = 3;
    setup.samples = 34;  // a second step of two batches
  }
  SUBCASE("three batches a step, with a metric of the training") {
    setup.stage.accumulation = 3;
    setup.samples = 34;
    setup.draws = false;
  }
  SUBCASE("bf16") {
    setup.stage.precision = Precision::bf16;
  }
  SUBCASE("fp16 and its loss scale") {
    setup.stage.precision = Precision::fp16;
  }
  SUBCASE("SGD, without average or clipping") {
    setup.stage.optimizer.rule = SgdRule{.momentum = .9};
    setup.stage.ema = 0.0;
    setup.stage.clip_norm = 0.0;
  }
  SUBCASE("Adam, batches without a short one") {
    setup.stage.optimizer.rule = AdamRule{};
    setup.samples = 24;
  }
  SUBCASE("running statistics, which have moved before a step is done again") {
    setup.norms = true;
  }
  SUBCASE("running statistics, and a last batch whose second half is padding") {
    setup.norms = true;
    setup.tail = headrace::Tail::pad;
  }
  SUBCASE("blocks whose activations are made again") {
    setup.stage.checkpointed = {"*"};
  }
  SUBCASE("a batch of two") {
    setup.stage.batch = 2;
    setup.samples = 9;
  }
  CHECK(check_first_step(setup, seeds) > 0);
}

TEST_CASE("a run that began with another effective batch ends otherwise") {
  const OneThread one_thread;
  const Ladder setup;
  Ladder other = smaller(setup);
  other.stage.accumulation = 1;
  const Refused one(setup, 40);
  REQUIRE(one.run.warned_of(done_again));
  CHECK_FALSE((one.ended == LadderRun(other).end()));
}

TEST_CASE("a later step is done again from where it began, batches of odd size and short ones") {
  const OneThread one_thread;
  for (const std::int64_t batch : {8, 7, 5}) {
    Ladder setup{.samples = few};
    setup.stage.epochs = 2;
    setup.stage.batch = batch;
    const std::int64_t steps = (setup.samples + batch - 1) / batch;  // the last of 2, 5 and 1 rows
    const Ended whole = LadderRun(setup).end();
    std::minstd_rand draw(3);
    for (const std::int64_t step : {std::int64_t{2}, steps, steps + 1}) {
      CAPTURE(batch);
      CAPTURE(step);
      const std::int64_t count = tensors_in(setup, step);
      for (int seed = 0; seed < 6; ++seed) {
        const std::int64_t n = 1 + static_cast<std::int64_t>(draw()) % count;
        CAPTURE(n);
        const Refused one(setup, n, step);
        CHECK(one.run.warnings.size() == 1);
        const int halvings = one.run.trainer.progress().halvings;
        const bool begun_anew = one.run.warned_of(done_again);
        CHECK((one.ended == (begun_anew ? cut_behind(setup, step - 1, halvings) : whole)));
      }
    }
  }
}

TEST_CASE("one lack of memory in a short batch halves the micro-batches of the stage once") {
  const OneThread one_thread;
  Ladder setup;
  setup.stage.batch = 64;
  setup.samples = 130;
  LadderRun run(setup);
  Ended ended;
  {
    const Refusal refusal([&, count = 0](std::uint64_t bytes) mutable {
      return run.coming == 3 && bytes == 8 && ++count == 1;
    });
    ended = run.end();
  }
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warned_of("the step is done again with micro-batches of 32 rows"));
  CHECK(run.trainer.progress().halvings == 1);
  CHECK((ended == cut_behind(setup, 2, 1)));
}

TEST_CASE("micro-batches that norms over the batch do not let shrink are not said to") {
  const OneThread one_thread;
  Ladder setup;
  setup.norms = true;
  setup.stage.batch = 6;
  LadderRun run(setup);
  {
    const Refusal refusal([&](std::uint64_t bytes) {  // three images, not a generator's state
      return run.network->is_training() && bytes > 1000 && bytes < 4000;
    });
    CHECK_THROWS_WITH_AS(run.trainer.run(), doctest::Contains("; 3 rows at once, with what can"),
                         headrace::ResourceError);
  }
  REQUIRE(run.warnings.size() == 1);
  CHECK(
      run.warned_of("micro-batches of 3 rows, the same effective batch; to begin so, set "
                    "training.batch=3, training.accumulation=2"));
  CHECK(run.trainer.progress().halvings == 1);
}

TEST_CASE("pieces of an odd batch are the same effective batch") {
  const OneThread one_thread;
  Ladder setup;
  setup.stage.batch = 7;
  setup.stage.optimizer.rule = SgdRule{.momentum = .9};
  setup.draws = false;
  const Ended whole = LadderRun(setup).end();
  const Ended cut = cut_behind(setup, 0, 1);
  CHECK_FALSE((cut == whole));
  for (const auto& [name, tensor] : whole.tensors) {
    CAPTURE(name);
    if (tensor.is_floating_point()) CHECK(at::allclose(tensor, cut.tensors.at(name), 1e-4, 1e-6));
  }
}

TEST_CASE(
    "tensors above a size are refused until micro-batches are small enough, and no step more") {
  const OneThread one_thread;
  const Ladder setup;
  LadderRun run(setup);
  Ended ended;
  {
    const Refusal refusal([&](std::uint64_t bytes) {  // more than two rows of the activations
      return run.network->is_training() && bytes > 60 * 1024;
    });
    ended = run.end();
  }
  CHECK((ended == LadderRun(smaller(smaller(setup))).end()));
  REQUIRE(run.warnings.size() == 2);
  for (const char* words :
       {"[memory] step 1 ran out: [memory] a tensor of the CPU of 221184 bytes was refused; free ",
        "; reserved but unused 0 B; most is held by ",
        "; the step is done again with micro-batches of 4 rows, the same effective batch; to begin "
        "so, set training.batch=4, training.accumulation=2"})
    CHECK(run.warned_of(words));
  CHECK(run.warned_of("set training.batch=2, training.accumulation=4"));
  CHECK(run.course.most_rows == 2);
  CHECK(run.trainer.progress().halvings == 2);
  CHECK_FALSE(run.trainer.progress().checkpointed);
}

TEST_CASE("behind micro-batches of a row comes making activations again, with the same result") {
  const OneThread one_thread;
  Ladder setup;
  setup.samples = 16;
  const auto peak = [&](const std::vector<std::string>& checkpointed) {
    Ladder one = setup;
    one.stage.checkpointed = checkpointed;
    one.stage.batch = 1;
    one.stage.accumulation = 8;
    LadderRun run(one);
    std::int64_t most = 0;
    count_tensor_memory();
    const auto held = [] { return static_cast<std::int64_t>(tensor_memory(at::kCPU).peak); };
    reset_peak_tensor_memory(at::kCPU);
    const std::int64_t before = held();
    run.on_step = [&](const StepReport&) { most = std::max(most, held() - before); };
    run.end();
    return most;
  };
  const std::int64_t plain = peak({});
  const std::int64_t made_again = peak({"*"});
  REQUIRE(made_again < plain - 20000);

  Ladder reference = setup;
  reference.stage.batch = 1;
  reference.stage.accumulation = 8;
  const Ended expected = LadderRun(reference).end();
  LadderRun run(setup);
  reset_peak_tensor_memory(at::kCPU);
  limit_cpu_tensors(tensor_memory(at::kCPU).allocated +
                    static_cast<std::uint64_t>((plain + made_again) / 2));
  run.on_step = [](const StepReport& report) {
    if (report.step == 2) limit_cpu_tensors(0);  // validation is not what is looked at
  };
  const Ended ended = run.end();
  limit_cpu_tensors(0);
  CHECK(run.trainer.progress().checkpointed);
  CHECK(run.trainer.progress().halvings == 3);
  CHECK(
      run.warned_of("activations of all blocks made again; to begin so, set "
                    "training.checkpointed: [\"*\"]"));
  CHECK(run.warnings.size() == 4);
  CHECK(run.warned_of("with micro-batches of 1 row, the same effective batch"));
  CHECK((ended == expected));
}
