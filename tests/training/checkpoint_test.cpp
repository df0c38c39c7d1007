#include <headrace/engine/base/error.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/checkpoint/checkpoint_store.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using headrace::test::TemporaryFolder;

using namespace headrace::training;

namespace {

namespace fs = std::filesystem;

Checkpoint sample(std::int64_t step = 7) {
  return {
      .progress = {.stage = 1,
                   .epoch = 2,
                   .step = step,
                   .skipped = 3,
                   .trained = true,
                   .position = {.seed = 18446744073709551615u, .epoch = 2, .position = 96},
                   .samples = 96,
                   .epoch_skipped = 1,
                   .plateau = {.best = .25, .bad = 1, .cooldown = 3, .reductions = 2},
                   .early_stopping = {.best = .875, .best_loss = .5, .reference = .75, .bad = 2},
                   .best_epoch = 1,
                   .skipped_in_a_row = 2,
                   .reloads = 1,
                   .rate_factor = .25,
                   .unfrozen_at = {14, 21}},
      .weights = {{"layer.weight", at::arange(6.).view({2, 3})}},
      .optimizer = {{"layer.weight.step", at::full({}, 7.f)}},
      .ema = {{"layer.weight", at::arange(6.).view({2, 3}) / 2}},
      .scaler = {{"scale", at::full({}, 65536.f)}},
      .rng = {{"cpu", at::arange(9, at::kByte)}},
      .counters = {{"confusion", at::arange(4, at::kLong)}},
      .fitted = {{"threshold", at::full({}, .35, at::kDouble)}},
      .identity = {{"config", "abc123"}, {"fold", "3"}},
      .notes = {{"task", "classification"}, {"classes", "0 a, 1 \"b\""}}};
}

void flip_byte(const fs::path& path, std::streamoff place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const char byte = static_cast<char>(file.get());
  file.seekp(place);
  file.put(static_cast<char>(byte ^ 4));
}

void check_same(const TensorMap& a, const TensorMap& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [name, tensor] : a)
    CHECK(at::equal(tensor, b.at(name)));
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was written") {
  const TemporaryFolder folder;
  const Checkpoint written = sample();
  write_checkpoint(folder.path() / "c", written);
  const Checkpoint read = read_checkpoint(folder.path() / "c");
  CHECK((read.progress == written.progress));
  CHECK((read.identity == written.identity));
  check_same(read.weights, written.weights);
  check_same(read.optimizer, written.optimizer);
  check_same(read.ema, written.ema);
  check_same(read.scaler, written.scaler);
  check_same(read.rng, written.rng);
  check_same(read.counters, written.counters);
  check_same(read.fitted, written.fitted);
  CHECK((read.notes == written.notes));
}

TEST_CASE("a best metric that is infinite is not lost") {
  const TemporaryFolder folder;
  Checkpoint written = sample();
  constexpr double inf = std::numeric_limits<double>::infinity();
  written.progress.early_stopping = {.best = inf, .reference = -inf};
  written.progress.plateau.best = -inf;
  write_checkpoint(folder.path() / "c", written);
  CHECK((read_checkpoint(folder.path() / "c").progress == written.progress));
}

TEST_CASE("a checkpoint with a weight that is not finite is not gone on from") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  CheckpointStore store(folder.path(),
                        {.warn = [&](const std::string& text) { warnings.push_back(text); }});
  store.save(sample(7));
  Checkpoint bad = sample(8);
  bad.weights["layer.weight"][1][2] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(store.save(bad), CheckpointError);
  CHECK(store.load_latest()->progress.step == 7);
  Checkpoint average = sample(8);
  average.ema["layer.weight"][0][0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(
      write_checkpoint(folder.path() / "c", average),
      ("[checkpoint] " + (folder.path() / "c").string() +
       ": all averaged weights must be finite, \"layer.weight\" holds values that are not")
          .c_str(),
      CheckpointError);

  // One that an earlier release has written.
  fs::copy_file(store.list().front(), folder.path() / "checkpoint-000009.safetensors");
  CHECK(store.load_latest()->progress.step == 7);
}

TEST_CASE("a run that was not evaluated yet and a sum that is not a number survive") {
  const TemporaryFolder folder;
  Checkpoint written;
  written.counters.emplace("sum", at::full({}, std::numeric_limits<double>::quiet_NaN()));
  write_checkpoint(folder.path() / "c", written);
  const Checkpoint read = read_checkpoint(folder.path() / "c");
  CHECK(std::isnan(read.counters.at("sum").item<double>()));
  CHECK_FALSE(read.progress.early_stopping.best.has_value());
  CHECK_FALSE(read.progress.plateau.best.has_value());
}

TEST_CASE("a flipped bit anywhere and a cut at any length are found") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "c";
  write_checkpoint(path, sample());
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  for (std::streamoff place = 0; place < size; place += 7) {
    flip_byte(path, place);
    CAPTURE(place);
    CHECK_THROWS_AS(read_checkpoint(path), CheckpointError);
    flip_byte(path, place);
  }
  CHECK_NOTHROW(read_checkpoint(path));
  for (std::streamoff length = size - 1; length >= 0; length -= 13) {
    fs::resize_file(path, static_cast<std::uintmax_t>(length));
    CHECK_THROWS_AS(read_checkpoint(path), CheckpointError);
  }
}

TEST_CASE("a safetensors file that is no checkpoint is called so") {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "w", {.tensors = {{"a", at::ones({1})}}, .metadata = {}});
  CHECK_THROWS_WITH_AS(read_checkpoint(folder.path() / "w"),
                       ("[checkpoint] " + (folder.path() / "w").string() +
                        ": has no checksum, it is not a checkpoint")
                           .c_str(),
                       CheckpointError);
}

TEST_CASE("the two newest checkpoints are kept") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "deep" / "checkpoints");
  CHECK_FALSE(store.load_latest().has_value());
  for (std::int64_t step = 1; step <= 5; ++step)
    store.save(sample(step));
  REQUIRE(store.list().size() == 2);
  CHECK(store.list()[0].filename() == "checkpoint-000005.safetensors");
  CHECK(store.list()[1].filename() == "checkpoint-000004.safetensors");
  CHECK(store.load_latest()->progress.step == 5);
}

TEST_CASE("a broken checkpoint is passed over for the previous good one, and said so") {
  const TemporaryFolder folder;
  {
    CheckpointStore store(folder.path());
    for (std::int64_t step = 1; step <= 2; ++step)
      store.save(sample(step));
    flip_byte(store.list()[0], 200);
  }
  std::vector<std::string> said;
  CheckpointStore store(folder.path(),
                        {.warn = [&](const std::string& line) { said.push_back(line); }});
  CHECK(store.load_latest()->progress.step == 1);
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("checkpoint-000002.safetensors") != std::string::npos);
  CHECK(said[1].find("going on from the previous good one") != std::string::npos);
  CHECK(said[1].find("checkpoint-000001.safetensors") != std::string::npos);

  SUBCASE("and does not count among those to keep") {
    for (std::int64_t step = 3; step <= 4; ++step)
      store.save(sample(step));
    CHECK(store.list().size() == 3);
    CHECK(store.load_latest()->progress.step == 4);
  }
}

TEST_CASE("a folder where no checkpoint can be read is an error") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save(sample());
  fs::resize_file(store.list()[0], 10);
  CHECK_THROWS_AS(store.load_latest(), CheckpointError);
}

TEST_CASE("a checkpoint that cannot be written leaves the others") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save(sample(1));
  Checkpoint bad = sample(2);
  bad.weights["complex"] = at::zeros({1}, at::kComplexFloat);
  CHECK_THROWS_AS(store.save(bad), CheckpointError);
  CHECK(store.load_latest()->progress.step == 1);
  CHECK(store.list().size() == 1);
}

TEST_CASE("a disk that does not take a checkpoint is another matter than a file that is bad") {
  const TemporaryFolder folder;
  const fs::path absent = folder.path() / "no" / "c";
  CHECK_THROWS_AS(write_checkpoint(absent, sample()), CheckpointWriteError);
  CHECK_THROWS_AS(write_safetensors(absent, {}), CheckpointWriteError);
  bool of_disk = true;
  try {
    read_checkpoint(absent);
  } catch (const CheckpointError& error) {
    of_disk = dynamic_cast<const CheckpointWriteError*>(&error) != nullptr;
  }
  CHECK_FALSE(of_disk);
}

TEST_CASE("two stores do not write into one folder at a time") {
  const TemporaryFolder folder;
  CheckpointStore reader(folder.path());
  {
    CheckpointStore first(folder.path());
    first.save(sample(1));
    CheckpointStore second(folder.path());
    CHECK_THROWS_WITH_AS(second.save(sample(2)),
                         ("[checkpoint] " + folder.path().string() +
                          ": another training writes its checkpoints there; stop that one first, "
                          "or give this one a folder of its own")
                             .c_str(),
                         CheckpointError);
    CHECK_THROWS_AS(second.save_best({.weights = {{"w", at::ones({2})}}}), CheckpointError);
    CHECK(second.load_latest()->progress.step == 1);
    CHECK_NOTHROW(first.save(sample(3)));
  }
  CHECK_NOTHROW(reader.save(sample(4)));
}

TEST_CASE("identity and notes that are no text are refused by their name") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = sample();
  checkpoint.notes["classes"] = "caf\xe9";
  CHECK_THROWS_WITH_AS(write_checkpoint(folder.path() / "c", checkpoint),
                       doctest::Contains("\"classes\" and its value \"caf\xe9\" must be UTF-8"),
                       CheckpointError);
}

TEST_CASE("other files in the folder are not touched") {
  const TemporaryFolder folder;
  for (const char* name : {"checkpoint-.safetensors", "checkpoint-1x.safetensors", "notes.txt"})
    std::ofstream(folder.path() / name) << "mine";
  CheckpointStore store(folder.path(), {.keep = 1});
  for (std::int64_t step = 1; step <= 3; ++step)
    store.save(sample(step));
  store.save_best({.weights = {{"w", at::ones({2})}}, .epoch = 4});
  CHECK(store.list().size() == 1);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 5);
  CHECK(read_safetensors(store.best_path()).metadata.at("headrace.epoch") == "4");
  CHECK_THROWS_AS(CheckpointStore(folder.path(), {.keep = 0}), headrace::ConfigError);
}

TEST_CASE("a checkpoint of another run is refused with every difference") {
  const std::map<std::string, std::string> of_run{
      {"config", "zzz"}, {"fold", "3"}, {"pipeline", "p"}};
  CHECK_NOTHROW(require_same_identity(of_run, of_run));
  CHECK_THROWS_WITH_AS(
      require_same_identity(sample().identity, of_run),
      "[checkpoint] belongs to another run; go on with the same configuration and data, or begin a "
      "new run:\n  config: \"abc123\" is now \"zzz\"\n  pipeline: nothing is now \"p\"",
      CheckpointError);
  CHECK_THROWS_AS(require_same_identity(of_run, sample().identity), CheckpointError);
  std::map<std::string, std::string> more = of_run;
  more["augment.0.flip"] = "0.5";
  CHECK_THROWS_WITH_AS(require_same_identity(of_run, more),
                       doctest::Contains("augment.0.flip: nothing is now \"0.5\""),
                       CheckpointError);
  // Of a later release, and nobody has set it.
  CHECK_NOTHROW(require_same_identity(of_run, more, {"augment.0.flip"}));
  CHECK_THROWS_AS(require_same_identity(more, of_run, {"augment.0.flip"}), CheckpointError);
  more["fold"] = "4";
  CHECK_THROWS_WITH_AS(require_same_identity(of_run, more, {"augment.0.flip", "fold"}),
                       doctest::Contains("new run:\n  fold: \"3\" is now \"4\""), CheckpointError);
}

TEST_CASE("the random generator goes on where it was") {
  at::manual_seed(5);
  at::rand({3});
  const TensorMap state = snapshot(capture_rng_state());
  const at::Tensor expected = at::rand({8});
  CHECK_FALSE(at::equal(at::rand({8}), expected));
  restore_rng_state(state);
  CHECK(at::equal(at::rand({8}), expected));
  CHECK_THROWS_AS(restore_rng_state({{"cpu", at::zeros({3}, at::kByte)}}), CheckpointError);
}
