#include "pattern_recipe.h"

using namespace headrace::training;

TEST_CASE("a member goes through its stages and is tested with what its validation fitted") {
  const PatternRecipe recipe(two_stages());
  const TemporaryFolder folder;
  std::vector<std::string> stages;
  MemberCallbacks callbacks;
  callbacks.on_stage = [&](const StageStart& start) {
    stages.push_back(start.stage.name + " " + std::to_string(start.number) + "/" +
                     std::to_string(start.stages));
  };
  const Member member = recipe.members().front();
  const MemberResult result = train_member(recipe, member, in(folder), callbacks);
  CHECK((result.status == RunStatus::finished));
  CHECK((stages == std::vector<std::string>{"first 0/2", "second 1/2"}));
  CHECK(result.selected_by == "accuracy");
  CHECK(figure(result.validation, "threshold") == 20.0);
  CHECK(figure(result.test, "threshold") == 20.0);
  CHECK(figure(result.test, "loss_classes") > 0.0);
  REQUIRE(result.confusion.has_value());
  CHECK(result.confusion->total() == 12);
  CHECK(headrace::models::accuracy(*result.confusion) == figure(result.test, "accuracy"));

  const BestWeights best = read_best_weights(folder.path() / "a/best.safetensors");
  CHECK(best.notes.at("task") == "patterns");
  CHECK(best.notes.at("job") == "test");
  CHECK(best.fitted.at("threshold").item<double>() == 20.0);
  // The second stage began with these, and did not train the convolution.
  CheckpointStore store(folder.path() / "a");
  const Checkpoint last = *store.load_latest();
  CHECK(last.progress.stage == 1);
  CHECK_FALSE(last.optimizer.contains("conv.weight.exp_avg"));
}

TEST_CASE("a member stopped in any stage and gone on with ends with the same files") {
  const OneThread one_thread;
  const PatternRecipe recipe(two_stages());
  const Member member = recipe.members().front();
  const TemporaryFolder whole;
  train_member(recipe, member, in(whole));
  for (const std::int64_t last : {1, 7, 14, 15, 16}) {
    CAPTURE(last);
    const TemporaryFolder folder;
    std::stop_source stop;
    std::int64_t steps = 0;
    MemberCallbacks callbacks;
    callbacks.trainer.on_step = [&](const StepReport&) {
      if (++steps == last) stop.request_stop();
    };
    at::manual_seed(99);
    const MemberResult cut = train_member(recipe, member, in(folder), callbacks, stop.get_token());
    CHECK((cut.status == RunStatus::interrupted));
    at::manual_seed(98);
    train_member(recipe, member, in(folder));
    CheckpointStore a(whole.path() / "a");
    CheckpointStore b(folder.path() / "a");
    const Checkpoint expected = *a.load_latest();
    const Checkpoint found = *b.load_latest();
    CHECK((found.progress == expected.progress));
    for (const auto& [name, tensor] : expected.weights)
      CHECK(at::equal(found.weights.at(name), tensor));
    for (const auto& [name, tensor] : expected.optimizer)
      CHECK(at::equal(found.optimizer.at(name), tensor));
    CHECK(bytes_of(a.best_path()) == bytes_of(b.best_path()));
    CHECK(bytes_of(a.folder() / "test-scores.safetensors") ==
          bytes_of(b.folder() / "test-scores.safetensors"));
  }
}

TEST_CASE("a checkpoint of another stage, member or number of records is refused") {
  const PatternRecipe recipe(two_stages());
  const TemporaryFolder folder;
  train_member(recipe, recipe.members()[0], in(folder));
  CHECK_THROWS_AS(train_member(recipe, recipe.members()[1], in(folder)), CheckpointError);
  std::vector<Stage> other = two_stages();
  other[1].name = "another";
  CHECK_THROWS_AS(train_member(PatternRecipe(other), recipe.members()[0], in(folder)),
                  CheckpointError);

  const TemporaryFolder elsewhere;
  MemberOptions options = in(elsewhere);
  options.identity = {{"training.learning_rate", "0.1"}};
  train_member(recipe, recipe.members()[0], options);
  options.identity = {{"training.learning_rate", "0.2"}};
  CHECK_THROWS_AS(train_member(recipe, recipe.members()[0], options), CheckpointError);
}

TEST_CASE("a changed stage, member's records or note of the recipe is refused by its name") {
  const TemporaryFolder folder;
  PatternRecipe recipe(two_stages());
  recipe.rows = {1, 2, 3};
  const auto train = [&](const PatternRecipe& with) {
    train_member(with, with.members().front(), in(folder));
  };
  train(recipe);
  train(recipe);  // the same goes on
  std::vector<Stage> faster = two_stages();
  faster[1].optimizer.learning_rate = 1e-3;
  PatternRecipe other(faster);
  other.rows = recipe.rows;
  CHECK_THROWS_WITH_AS(train(other), doctest::Contains("stage.optimizer"), CheckpointError);
  recipe.rows = {1, 2, 4};
  CHECK_THROWS_WITH_AS(train(recipe), doctest::Contains("records"), CheckpointError);
  recipe.rows = {1, 2, 3};
  recipe.task = "faces";
  CHECK_THROWS_WITH_AS(train(recipe), doctest::Contains("notes.task"), CheckpointError);
  recipe.task = "patterns";
  recipe.selected_by = {.figure = "loss"};
  CHECK_THROWS_WITH_AS(train(recipe), doctest::Contains("selected_by"), CheckpointError);
  MemberOptions options = in(folder);
  options.seed += 1;
  recipe.selected_by = {.figure = "accuracy", .goal = Goal::maximum};
  CHECK_THROWS_WITH_AS(train_member(recipe, recipe.members().front(), options),
                       doctest::Contains("seed"), CheckpointError);
}

TEST_CASE("a stop while the test is evaluated is one, and the run goes on with the test") {
  const OneThread one_thread;
  const PatternRecipe recipe(two_stages());
  const Member member = recipe.members().front();
  const TemporaryFolder whole;
  const MemberResult expected = train_member(recipe, member, in(whole));
  const TemporaryFolder folder;
  std::stop_source stop;
  MemberCallbacks callbacks;
  std::int64_t ends = 0;
  callbacks.on_stage_end = [&] {
    if (++ends == 2) stop.request_stop();
  };
  const MemberResult cut = train_member(recipe, member, in(folder), callbacks, stop.get_token());
  CHECK((cut.status == RunStatus::interrupted));
  CHECK(cut.test.empty());
  CHECK((train_member(recipe, member, in(folder)).test == expected.test));
}

TEST_CASE("a stage that an error ends is told of while its loader is there") {
  const OneThread one_thread;
  const PatternRecipe recipe(two_stages());
  const TemporaryFolder folder;
  headrace::Loader* loader = nullptr;
  std::int64_t samples = -1;
  bool ended = false;
  MemberCallbacks callbacks;
  callbacks.on_stage = [&](const StageStart& start) { loader = &start.train; };
  callbacks.on_stage_end = [&] { ended = true; };
  callbacks.on_stage_lost = [&] { samples = loader->stats().samples; };
  callbacks.trainer.on_step = [](const StepReport&) { throw std::runtime_error("disk"); };
  CHECK_THROWS_WITH(train_member(recipe, recipe.members().front(), in(folder), callbacks), "disk");
  CHECK(samples > 0);
  CHECK_FALSE(ended);
}

TEST_CASE("a member without validation keeps its last weights, one without a test has no figures") {
  PatternRecipe recipe({{.epochs = 2, .batch = 8}});
  recipe.without = {Split::validation};
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  MemberCallbacks callbacks;
  callbacks.trainer.on_warning = [&](const std::string& line) { warnings.push_back(line); };
  const auto trained_on = [&](const Member& member) {
    MemberOptions options = in(folder);
    options.folder = folder.path() / member.name;
    return train_member(recipe, member, options, callbacks);
  };
  CHECK_THROWS_AS(trained_on(recipe.members()[0]),
                  std::out_of_range);  // its test wants a threshold
  recipe.without.insert(Split::test);
  const MemberResult result = trained_on(recipe.members()[1]);
  CHECK(result.test.empty());
  CHECK(result.validation.empty());
  CHECK(result.best_epoch == -1);
  CHECK(warnings.empty());
  const BestWeights kept = read_best_weights(folder.path() / "b/best.safetensors");
  CheckpointStore store(folder.path() / "b");
  CHECK((kept.notes.at("member") == "b"));
  const Checkpoint last = *store.load_latest();
  for (const auto& [name, tensor] : last.weights)
    CHECK(at::equal(tensor, kept.weights.at(name)));
}

TEST_CASE("a recipe that cannot be judged on other data says so") {
  PatternRecipe recipe(two_stages());
  CHECK_THROWS_WITH_AS(recipe.test_on("other.h5", ""), doctest::Contains("other.h5"),
                       headrace::ConfigError);
}

TEST_CASE("members without a folder of their own are refused") {
  struct Twins final : Recipe {
    headrace::monitor::MemoryForecast plan() override { return {}; }
    std::uint64_t open() override { return 0; }
    std::vector<Member> members() const override { return all; }
    std::unique_ptr<Course> begin(const Member&) const override { return nullptr; }
    std::vector<Member> all;
  };
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"a", "a"}, {"a", ""}, {"a", ".."}, {"a/b"}, {}}) {
    Twins recipe;
    for (const std::string& name : names)
      recipe.all.push_back({.index = static_cast<std::int64_t>(recipe.all.size()), .name = name});
    CHECK_THROWS_AS(members_of(recipe), headrace::ConfigError);
  }
}

TEST_CASE("stages of one network agree on its memory layout, and begin from weights there are") {
  std::vector<Stage> stages = two_stages();
  stages[1].channels_last = true;
  const TemporaryFolder folder;
  const auto train = [&](const PatternRecipe& recipe) {
    train_member(recipe, recipe.members().front(), in(folder));
  };
  CHECK_THROWS_WITH_AS(train(PatternRecipe(stages)), doctest::Contains("channels_last"),
                       headrace::ConfigError);
  // Known before the first stage is trained.
  PatternRecipe unjudged(two_stages());
  unjudged.without = {Split::validation, Split::test};
  CHECK_THROWS_WITH_AS(train(unjudged), doctest::Contains("start"), headrace::ConfigError);
  stages = two_stages();
  stages[1].frozen = {"no such layer"};
  CHECK_THROWS_WITH_AS(train(PatternRecipe(stages)), doctest::Contains("no such layer"),
                       headrace::ConfigError);
  const auto refuses = [&](void (*change)(std::vector<Stage>&), const char* words) {
    std::vector<Stage> changed = two_stages();
    change(changed);
    CHECK_THROWS_WITH_AS(train(PatternRecipe(changed)), doctest::Contains(words),
                         headrace::ConfigError);
  };
  refuses([](auto& all) { all[0].keep_moments = true; }, "the first has none");
  refuses([](auto& all) { all[1].keep_moments = true; }, "start from last");
  refuses(
      [](auto& all) {
        all[1].keep_moments = true;
        all[1].start = StartFrom::last;
        all[1].optimizer.rule = SgdRule{.momentum = 0.9};
      },
      "the same as that of the stage before");
  refuses(
      [](auto& all) {
        all[1].keep_moments = true;
        all[1].start = StartFrom::last;
        all[1].unfreeze = {{.at = 1, .patterns = {"conv"}}};
      },
      "would lose its moments");
  CheckpointStore store(folder.path() / "a");
  CHECK(store.list().empty());
}
