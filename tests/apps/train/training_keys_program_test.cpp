// Each key of the section `training` changes what it says, by the program.
#include <headrace/tests/apps/key_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/torch_doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>

namespace {

using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::KeyFolder;
using headrace::test::KeyRun;
using headrace::test::same_weights;

namespace fs = std::filesystem;

// Keys of the section for all kinds, in the page of a kind.
std::set<std::string> known_keys(const std::string& page) {
  std::set<std::string> keys;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("### ")) inside = line.starts_with("### `training");
    if (inside && line.starts_with("| `")) keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

std::set<std::string> names_of(const headrace::training::TensorMap& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors)
    names.insert(name);
  return names;
}

bool starts_all(const std::set<std::string>& names, const std::string& ending) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return name.ends_with(ending); });
}

}  // namespace

TEST_CASE("every key of the section training is looked at by a test of this file or of stages") {
  const std::set<std::string> looked_at{
      "epochs", "batch", "evaluation_batch", "accumulation", "optimizer", "learning_rate",
      "weight_decay", "decay_vectors", "groups", "pattern", "rate_factor", "schedule", "clip",
      "ema", "frozen_norms", "unfreeze", "at", "patterns", "warmup", "checkpointed", "precision",
      "channels_last", "cudnn_benchmark", "deterministic", "early_stopping", "min_delta", "stop_at",
      "non_finite", "checkpoint_every", "member", "stages", "name", "start", "keep_moments",
      // of optimizer, schedule and non_finite
      "beta1", "beta2", "epsilon", "momentum", "nesterov", "warmup_epochs", "lowest",
      "warmup_start", "pct", "div", "final_div", "cycle_momentum", "low_momentum", "high_momentum",
      "power", "every", "factor", "figure", "goal", "patience", "threshold", "cooldown", "in_a_row",
      "times"};
  const KeyFolder folder;
  const std::set<std::string> known = known_keys(folder.done({"config", "classification"}).out);
  REQUIRE(known.size() > 20);
  for (const std::string& key : known)
    CHECK_MESSAGE(looked_at.contains(key), key);
}

TEST_CASE("epochs, batch and accumulation say how many steps there are") {
  const KeyFolder folder;
  const KeyRun plain = folder.train({});
  CHECK(plain.epochs() == 3);
  CHECK(folder.train({"epochs=2"}).epochs() == 2);
  const double steps = plain.numbers("step").front();
  CHECK(folder.train({"batch=4"}).numbers("step").front() > 1.5 * steps);
  CHECK(folder.train({"accumulation=2"}).numbers("step").front() ==
        doctest::Approx(steps / 2).epsilon(0.2));
}

TEST_CASE("the same keys give the same weights, and another evaluation's batch changes none") {
  const KeyFolder folder;
  const KeyRun plain = folder.train({});
  CHECK(same_weights(plain, folder.train({})));
  CHECK(same_weights(plain, folder.train({"evaluation_batch=4"})));
  const auto forecast = [&](const std::string& batch) {
    return folder
        .done({"train", "job.yaml", "--dry-run", "--set", "memory.measure=true", "--set",
               "training.evaluation_batch=" + batch})
        .out;
  };
  CHECK(forecast("100000") != forecast("4"));
}

TEST_CASE("the optimiser is the one that is named, with its numbers") {
  const KeyFolder folder;
  const KeyRun adamw = folder.train({});
  CHECK(starts_all(names_of(adamw.last().optimizer), ".exp_avg_sq"));
  CHECK_FALSE(same_weights(adamw, folder.train({"optimizer=adam", "weight_decay=0.5"})));
  CHECK_FALSE(same_weights(adamw, folder.train({"optimizer.adamw.beta1=0.5"})));
  CHECK_FALSE(same_weights(adamw, folder.train({"optimizer.adamw.beta2=0.5"})));
  CHECK_FALSE(same_weights(adamw, folder.train({"optimizer.adamw.epsilon=0.1"})));
  const KeyRun sgd = folder.train({"optimizer=sgd"});
  CHECK(starts_all(names_of(sgd.last().optimizer), ".momentum_buffer"));
  CHECK_FALSE(starts_all(names_of(sgd.last().optimizer), ".exp_avg"));
  CHECK(folder.train({"optimizer={sgd: {momentum: 0, nesterov: false}}"}).last().optimizer.empty());
  const KeyRun nesterov = folder.train({"optimizer={sgd: {momentum: 0.9, nesterov: true}}"});
  CHECK_FALSE(
      same_weights(folder.train({"optimizer={sgd: {momentum: 0.9, nesterov: false}}"}), nesterov));
}

TEST_CASE("rates, decays and clipping reach the optimiser") {
  const KeyFolder folder;
  const KeyRun plain = folder.train({});
  CHECK((plain.numbers("learning_rate") == std::vector<double>(3, 0.01)));
  CHECK((folder.train({"learning_rate=0.002"}).numbers("learning_rate") ==
         std::vector<double>(3, 0.002)));
  const KeyRun decayed = folder.train({"weight_decay=1"});
  CHECK_FALSE(at::equal(plain.weight("fc1.weight"), decayed.weight("fc1.weight")));
  CHECK_FALSE(same_weights(decayed, folder.train({"weight_decay=1", "decay_vectors=true"})));
  CHECK_FALSE(same_weights(plain, folder.train({"clip=0.001"})));
}

TEST_CASE("a group has its own rate and decay") {
  const KeyFolder folder;
  const KeyRun first = folder.train({"epochs=1"});
  const std::string still =
      "groups=[{pattern: head, rate_factor: 0}, {pattern: fc2, weight_decay: 1}]";
  const KeyRun one = folder.train({"epochs=1", still});
  const KeyRun three = folder.train({still});
  CHECK(at::equal(one.weight("head.weight"), three.weight("head.weight")));
  CHECK_FALSE(at::equal(one.weight("head.weight"), first.weight("head.weight")));
  CHECK_FALSE(at::equal(one.weight("fc1.weight"), three.weight("fc1.weight")));
  CHECK_FALSE(
      same_weights(one, folder.train({"epochs=1", "groups=[{pattern: head, rate_factor: 0}]"})));
  const Finished wrong = folder.tried({"groups=[{pattern: haed}]"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "haed"));
}

TEST_CASE("each schedule drives the rate its way") {
  const KeyFolder folder;
  const auto rates = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), "epochs=4");
    return folder.train(settings).numbers("learning_rate");
  };
  const auto falls = [](const std::vector<double>& all) {
    return std::ranges::is_sorted(all, std::greater<>{}) && all.back() < all.front();
  };
  const std::vector<double> cosine = rates({"schedule={cosine: {warmup_epochs: 0}}"});
  CHECK(falls(cosine));
  CHECK(rates({"schedule={cosine: {warmup_epochs: 0, lowest: 0.005}}"}).back() > 0.005);
  const std::vector<double> warm =
      rates({"schedule={cosine: {warmup_epochs: 3, warmup_start: 0.5}}"});
  CHECK(std::ranges::is_sorted(warm.begin(), warm.begin() + 3));
  CHECK(warm != rates({"schedule={cosine: {warmup_epochs: 3, warmup_start: 0.1}}"}));
  const std::vector<double> cycle = rates({"schedule=one-cycle"});
  CHECK(*std::ranges::max_element(cycle) > cycle.back());
  for (const char* other : {"pct: 0.6", "div: 10", "final_div: 2"})
    CHECK_MESSAGE(cycle != rates({"schedule={one-cycle: {" + std::string(other) + "}}"}), other);
  CHECK(falls(rates({"schedule={polynomial: 1}"})));
  CHECK(rates({"schedule={polynomial: 1}"}) != rates({"schedule={polynomial: 2}"}));
  CHECK((rates({"schedule={step: {every: 2, factor: 0.5}}"}) ==
         std::vector{0.01, 0.01, 0.005, 0.005}));
  CHECK((rates({"schedule={step: {at: [1, 3], factor: 0.5}}"}) ==
         std::vector{0.01, 0.005, 0.005, 0.0025}));
}

TEST_CASE("one-cycle moves the momentum where it is asked to") {
  const KeyFolder folder;
  const KeyRun still = folder.train({"schedule=one-cycle"});
  const KeyRun moved = folder.train({"schedule={one-cycle: {cycle_momentum: true}}"});
  CHECK_FALSE(same_weights(still, moved));
  CHECK_FALSE(same_weights(
      moved, folder.train({"schedule={one-cycle: {cycle_momentum: true, low_momentum: 0.5}}"})));
  CHECK_FALSE(same_weights(
      moved, folder.train({"schedule={one-cycle: {cycle_momentum: true, high_momentum: 0.99}}"})));
}

// The training's loss falls all the time, and never to a hundredth.
TEST_CASE("a plateau follows its figure towards its goal") {
  const KeyFolder folder;
  const auto rates = [&](const std::string& plateau) {
    return folder.train({"epochs=6", "schedule={plateau: {" + plateau + "}}"})
        .numbers("learning_rate");
  };
  const std::string never = "figure: loss, goal: lower, patience: 0, threshold: 0.99";
  CHECK((rates("figure: loss, goal: lower, patience: 0, threshold: 0") ==
         std::vector<double>(6, 0.01)));
  CHECK(rates(never + ", factor: 0.5")[2] == doctest::Approx(0.005));
  CHECK(rates(never + ", factor: 0.1")[2] == doctest::Approx(0.001));
  CHECK(rates(never + ", factor: 0.1, lowest: 0.002").back() == doctest::Approx(0.002));
  CHECK(rates(never + ", factor: 0.5, cooldown: 3")[4] > rates(never + ", factor: 0.5")[4]);
  CHECK(rates("figure: loss, goal: lower, patience: 3, threshold: 0.99, factor: 0.5")[2] == 0.01);
  const Finished unknown = folder.tried({"schedule={plateau: {figure: acuracy}}"});
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.err, "did you mean \"accuracy\"?"));
  const Finished upwards = folder.tried({"schedule={plateau: {figure: accuracy}}"});
  CHECK(upwards.status == 2);
  CHECK(contains(upwards.err, "goal=higher"));
  const Finished downwards = folder.tried({"schedule={plateau: {goal: higher}}"});
  CHECK(downwards.status == 2);
  CHECK(contains(downwards.err, "goal=lower"));
}

TEST_CASE("a run from before a key is gone on with where the key has its default") {
  const KeyFolder folder;
  const KeyRun run = folder.train({});
  const fs::path file = headrace::test::newest_checkpoint(run.folder());
  fs::remove(file.parent_path() / "result.json");
  headrace::training::Checkpoint earlier = headrace::training::read_checkpoint(file);
  REQUIRE(earlier.identity.erase("training.accumulation") == 1);
  headrace::training::write_checkpoint(file, earlier);
  const auto resume = [&](std::vector<std::string> settings) {
    std::vector<std::string> words{"train", "--resume", run.folder().string()};
    for (const std::string& one : settings)
      words.insert(words.end(), {"--set", one});
    return folder.run(words);
  };
  std::string yaml = headrace::test::content_of(run.folder() / "config.yaml");
  const std::size_t line = yaml.find("  accumulation: 1");
  REQUIRE(line != std::string::npos);
  yaml.erase(line, yaml.find('\n', line) - line + 1);
  std::ofstream(run.folder() / "config.yaml") << yaml;
  CHECK(resume({"training.accumulation=2"}).status == 2);
  const Finished same = resume({"training.accumulation=1"});
  CHECK_MESSAGE(same.status == 0, same.err);
  fs::remove(file.parent_path() / "result.json");
  const Finished resumed = resume({});
  CHECK_MESSAGE(resumed.status == 0, resumed.err);
}

TEST_CASE("ema is evaluated and kept, the trained weights go on beside it") {
  const KeyFolder folder;
  const KeyRun plain = folder.train({});
  const KeyRun averaged = folder.train({"ema=0.9"});
  CHECK(plain.last().ema.empty());
  CHECK(averaged.last().ema.size() == averaged.last().weights.size());
  CHECK(same_weights(plain, averaged));
  CHECK(plain.column("val_loss") != averaged.column("val_loss"));
  CHECK_FALSE(at::equal(averaged.kept("fc1.weight"), plain.kept("fc1.weight")));
  CHECK_FALSE(at::equal(averaged.kept("fc1.weight"), folder.train({"ema=0.5"}).kept("fc1.weight")));
}

TEST_CASE("frozen norms keep their statistics") {
  const KeyFolder folder;
  CHECK(folder.train({}).weight("bn1.running_mean").abs().sum().item<float>() > 0.0F);
  const KeyRun frozen = folder.train({"frozen_norms=true"});
  CHECK(frozen.weight("bn1.running_mean").abs().sum().item<float>() == 0.0F);
  CHECK(frozen.weight("bn1.num_batches_tracked").item<std::int64_t>() == 0);
}

TEST_CASE("what is unfrozen is trained from its epoch on") {
  const KeyFolder folder;
  const std::vector<std::string> frozen{"model.frozen=[fc1]",
                                        "unfreeze=[{at: 2, patterns: [fc1]}]"};
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), frozen.begin(), frozen.end());
    return folder.train(more);
  };
  const KeyRun before = train({"early_stopping=0", "epochs=3", "unfreeze=[]"});
  const KeyRun behind = train({"early_stopping=0", "epochs=3"});
  CHECK(contains(behind.log(), "epoch 2 unfreezes"));
  CHECK_FALSE(contains(before.log(), "unfreezes"));
  CHECK_FALSE(at::equal(before.weight("fc1.weight"), behind.weight("fc1.weight")));
  CHECK(before.last().optimizer.count("fc1.weight.exp_avg") == 0);
  CHECK(behind.last().optimizer.count("fc1.weight.exp_avg") == 1);
  CHECK_FALSE(
      same_weights(behind, train({"unfreeze=[{at: 2, patterns: [fc1], rate_factor: 0.1}]"})));
  CHECK_FALSE(same_weights(behind, train({"unfreeze=[{at: 2, patterns: [fc1], warmup: 4}]"})));
}

TEST_CASE("checkpointed blocks give the same weights, and a name that fits none is refused") {
  const KeyFolder folder;
  CHECK(same_weights(folder.train({}), folder.train({"checkpointed=[fc]"})));
  const Finished wrong = folder.tried({"checkpointed=[layer9]"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "layer9"));
  CHECK(contains(wrong.err, "fc1"));
  const Finished dry =
      folder.run({"train", "job.yaml", "--dry-run", "--set", "training.checkpointed=[layer9]"});
  CHECK(dry.status == 2);
  CHECK(contains(dry.err, "layer9"));
}

TEST_CASE("the precision is the one that is named") {
  const KeyFolder folder;
  const KeyRun plain = folder.train({});
  CHECK_FALSE(same_weights(plain, folder.train({"precision=bf16"})));
  const KeyRun half = folder.train({"precision=fp16"});
  CHECK_FALSE(half.last().scaler.empty());
  CHECK(plain.last().scaler.empty());
  const KeyRun tf32 = folder.train({"precision=tf32"});
  CHECK(same_weights(plain, tf32));
  CHECK(contains(tf32.log(), "tf32 is fp32 on this device"));
}

TEST_CASE("cuDNN's keys are said to do nothing without a GPU, and contradict each other") {
  const KeyFolder folder;
  CHECK(contains(folder.train({"cudnn_benchmark=true"}).log(), "cudnn_benchmark does nothing"));
  CHECK_FALSE(contains(folder.train({"deterministic=true"}).log(), "does nothing"));
  const Finished both = folder.tried({"cudnn_benchmark=true", "deterministic=true"});
  CHECK(both.status == 2);
  CHECK(contains(both.err, "set one of them to false"));
}

TEST_CASE("patience ends a training whose figure does not get better by enough") {
  const KeyFolder folder;
  CHECK(folder.train({"epochs=5", "early_stopping=2"}).epochs() == 5);
  CHECK(folder.train({"epochs=5", "early_stopping=2", "min_delta=100"}).epochs() == 3);
  CHECK(folder.train({"epochs=5", "early_stopping=0", "min_delta=100"}).epochs() == 5);
}

TEST_CASE("a loss that is good enough ends a training") {
  const KeyFolder folder;
  CHECK(folder.train({"epochs=4", "early_stopping=0", "stop_at=100"}).epochs() == 1);
  CHECK(folder.train({"epochs=4", "early_stopping=0", "stop_at=0"}).epochs() == 4);
}

TEST_CASE("checkpoints come every so many steps") {
  const KeyFolder folder;
  const auto newest = [&](const std::vector<std::string>& settings) {
    return std::stoll(headrace::test::newest_checkpoint(folder.train(settings).folder())
                          .stem()
                          .string()
                          .substr(11));
  };
  CHECK(newest({"batch=2", "checkpoint_every=1"}) > newest({"batch=2"}));
}

TEST_CASE("a member is trained alone") {
  const KeyFolder folder(-1);
  const KeyRun all = folder.train({"data.split.folds=3"});
  const KeyRun one = folder.train({"data.split.folds=3", "member=1"});
  CHECK(fs::exists(all.folder() / "checkpoints" / "fold-0"));
  CHECK_FALSE(fs::exists(one.folder() / "checkpoints" / "fold-0"));
  CHECK(fs::exists(one.folder() / "checkpoints" / "fold-1"));
}
