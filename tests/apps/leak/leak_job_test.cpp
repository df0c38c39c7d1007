#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::app;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

Finished prepare(const TemporaryFolder& folder, const std::string& output,
                 const std::vector<std::string>& more = {}) {
  if (!fs::exists(folder.path() / "sounds")) test::write_leak_sounds(folder.path() / "sounds");
  std::vector<std::string> words{"prepare",  "leak", "--sounds", "sounds",
                                 "--output", output, "--limit",  "8"};
  words.insert(words.end(), more.begin(), more.end());
  return run_headrace(folder.path(), words);
}

std::vector<std::uint16_t> bits_of(const Tensor& tensor) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(tensor.elements()));
  std::memcpy(bits.data(), tensor.raw(), tensor.bytes());
  return bits;
}

}  // namespace

TEST_CASE(
    "prepare leak writes three files in the job's layout, each recording half the time a leak") {
  const TemporaryFolder folder;
  const Finished first = prepare(folder, "out");
  REQUIRE_MESSAGE(first.status == 0, first.err);
  for (const char* split : {"training", "validation", "testing"}) {
    CAPTURE(split);
    const LeakFile file = read_leak_file(folder.path() / "out" / (std::string(split) + ".h5"));
    CHECK(file.longs == 40);
    CHECK(file.shorts == 2);
    CHECK(file.mels == 64);
    CHECK(file.frames == 5);
    CHECK(file.labels.size() == (std::string(split) == "training" ? 8 : 2));
    const auto leaks = std::count(file.labels.begin(), file.labels.end(), 1);
    CHECK(2 * leaks == static_cast<std::int64_t>(file.labels.size()));
    CHECK(file.mean < 0.0);
    CHECK(file.deviation > 1.0);
  }
  const Finished again = prepare(folder, "out");
  CHECK(again.status == 0);
  CHECK(contains(again.err, "kept"));
  CHECK(contains(prepare(folder, "out", {"--seed", "43"}).err, "recordings"));
}

TEST_CASE("the spectrograms of a file are the log-mel of its waveforms") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out").status == 0);
  const Hdf5Table table({.file = folder.path() / "out/training.h5",
                         .fields = {{.name = "mel", .dataset = leak_mel_dataset},
                                    {.name = "waveform", .dataset = leak_waveform_dataset}}});
  const LogMel op({.dtype = DType::float16, .field = "made"});
  for (std::int64_t row = 0; row < table.size(); ++row) {
    Sample sample;
    table.read(row, sample);
    const std::vector<std::uint16_t> stored = bits_of(sample["mel"]);
    op(sample);
    CHECK(bits_of(sample["made"]) == stored);
  }
}

TEST_CASE("the files are the same for any number of threads and another for another seed") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "one", {"--threads", "1"}).status == 0);
  REQUIRE(prepare(folder, "two", {"--threads", "2"}).status == 0);
  REQUIRE(prepare(folder, "eight", {"--threads", "8"}).status == 0);
  REQUIRE(prepare(folder, "other", {"--threads", "2", "--seed", "43"}).status == 0);
  const auto rows = [&](const std::string& name) {
    const Hdf5Table table({.file = folder.path() / name / "training.h5",
                           .fields = {{.name = "mel", .dataset = leak_mel_dataset}}});
    std::vector<std::uint16_t> all;
    for (std::int64_t row = 0; row < table.size(); ++row) {
      Sample sample;
      table.read(row, sample);
      const std::vector<std::uint16_t> bits = bits_of(sample["mel"]);
      all.insert(all.end(), bits.begin(), bits.end());
    }
    return all;
  };
  const std::vector<std::uint16_t> wanted = rows("one");
  CHECK(rows("two") == wanted);
  CHECK(rows("eight") == wanted);
  CHECK(rows("other") != wanted);
}

TEST_CASE("segments are the recordings' cells in order, with the recordings' labels") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out", {"--no-waveforms"}).status == 0);
  const LeakFile file = read_leak_file(folder.path() / "out/training.h5");
  const PlannedSource planned = plan_leak_segments(file, 1U << 30);
  const auto segments = planned.open();
  CHECK(planned.outline->size() == 8 * 80);
  CHECK(segments->size() == 8 * 80);
  CHECK(planned.resident_bytes == 8 * 80 * 640);
  const Hdf5Table table(
      {.file = file.path, .fields = {{.name = "mel", .dataset = leak_mel_dataset}}});
  for (const std::int64_t index : {0, 1, 79, 80, 333, 639}) {
    Sample whole;
    table.read(index / 80, whole);
    Sample sample;
    segments->read(index, sample);
    CHECK(sample["mel"].shape() == Shape{64, 5});
    const std::vector<std::uint16_t> all = bits_of(whole["mel"]);
    const auto first = all.begin() + index % 80 * 320;
    CHECK(bits_of(sample["mel"]) == std::vector<std::uint16_t>(first, first + 320));
    CHECK(sample["label"].item<std::int64_t>() ==
          file.labels[static_cast<std::size_t>(index / 80)]);
  }
  CHECK(contains(segments->origin(161), "segment 0.1"));
  CHECK_THROWS_AS(plan_leak_segments(file, 1000).open(), ResourceError);
}

TEST_CASE("training batches of the leak job are masked with the mean, evaluation batches are not") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out", {"--no-waveforms"}).status == 0);
  const LeakFile file = read_leak_file(folder.path() / "out/training.h5");
  LeakConfig config;
  config.training.batch = 64;
  config.augment = augment_list("[spec_augment]");
  const auto segments = plan_leak_segments(file, 1U << 30).open();
  const auto stream = [&](int threads) {
    auto loader = leak_training_pipeline(segments, file, config, Device::cpu())
                      .build({.runtime = Runtime({.threads = threads})});
    std::vector<std::uint16_t> all;
    for (const Batch& batch : loader.epoch(0)) {
      const std::vector<std::uint16_t> bits = bits_of(batch["mel"]);
      all.insert(all.end(), bits.begin(), bits.end());
    }
    return all;
  };
  const std::vector<std::uint16_t> wanted = stream(1);
  CHECK(wanted.size() == 640 * 320);
  CHECK(stream(2) == wanted);
  CHECK(stream(8) == wanted);
  config.augment.clear();
  const std::vector<std::uint16_t> plain = stream(2);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < plain.size(); ++i)
    changed += plain[i] != wanted[i] ? 1 : 0;
  // On average 5 of 64 bins and half a frame of 5 are masked.
  const double share = static_cast<double>(changed) / static_cast<double>(plain.size());
  CHECK(share > 0.12);
  CHECK(share < 0.22);
}

TEST_CASE("out of a device's table the leak job makes the batches that it makes in host memory") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out", {"--no-waveforms"}).status == 0);
  const LeakFile file = read_leak_file(folder.path() / "out/training.h5");
  LeakConfig config;
  config.training.batch = 48;
  const auto stream = [&](LeakResidence residence, int threads) {
    config.data.residence = residence;
    const PlannedSource planned = plan_leak_data(file, config.data, Device::cpu());
    const auto segments = planned.open();
    CHECK(planned.outline->size() == segments->size());
    CHECK(planned.outline->fields() == segments->fields());
    CHECK(segments->origin(161) == planned.outline->origin(161));
    const LoaderOptions options{.runtime = Runtime({.threads = threads})};
    Loader training = leak_training_pipeline(segments, file, config, Device::cpu()).build(options);
    Loader evaluation = leak_evaluation_pipeline(segments, 100, Device::cpu()).build(options);
    std::vector<std::uint16_t> mels;
    std::vector<std::int64_t> labels;
    for (Loader* loader : {&training, &evaluation}) {
      for (const std::int64_t epoch : {0, 1}) {
        for (const Batch& batch : loader->epoch(epoch)) {
          const std::vector<std::uint16_t> bits = bits_of(batch["mel"]);
          mels.insert(mels.end(), bits.begin(), bits.end());
          const auto of_batch = batch["label"].values<std::int64_t>();
          labels.insert(labels.end(), of_batch.begin(), of_batch.end());
        }
      }
    }
    return std::pair(std::move(mels), std::move(labels));
  };
  for (const bool masks : {true, false}) {
    config.augment = augment_list(masks ? "[spec_augment]" : "[]");
    const auto wanted = stream(LeakResidence::host, 2);
    CHECK(wanted.second.size() == 2 * (624 + 640));
    for (const int threads : {1, 2, 8}) {
      const auto made = stream(LeakResidence::device, threads);
      CHECK((made == wanted));
    }
  }
}

TEST_CASE("segments that data.resident has no room for are refused as they are planned") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out", {"--no-waveforms"}).status == 0);
  const LeakFile file = read_leak_file(folder.path() / "out/training.h5");
  LeakConfig config;
  const auto said = [&] {
    try {
      plan_leak_data(file, config.data, Device::cpu());
    } catch (const ResourceError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const LeakResidence residence : {LeakResidence::host, LeakResidence::device}) {
    config.data.residence = residence;
    config.data.resident = Bytes{1000};
    const std::string rule = "but data.resident is 1000B; set data.resident to 1MiB or more";
    CHECK_MESSAGE(contains(said(), rule), said());
    CHECK(contains(said(), file.path.string()));
    config.data.resident = Bytes{1_MiB};
    CHECK(said() == "no error");
    CHECK_NOTHROW(plan_leak_data(file, config.data, Device::cpu()).open());
  }
}

TEST_CASE("a leak file of another layout is refused with what came") {
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, "out").status == 0);
  CHECK_THROWS_AS(read_leak_file(folder.path() / "nothing.h5"), Error);
  const Finished bench =
      run_headrace(folder.path(), {"prepare", "leak", "--sounds", "nowhere", "--output", "x"});
  CHECK(bench.status == 2);
  CHECK(contains(bench.err, "nowhere"));
}
