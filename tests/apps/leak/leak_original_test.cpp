#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/leak/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using namespace headrace::app;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

constexpr const char* names = R"(["BACKGROUND", "CRACK", "LEAK", "NORMAL", "UNCLASSIFIED"])";

/// Files of `headrace prepare leak`, and copies of them whose attributes are those of the original
/// data set's builder: strings of variable length, no mean_db and no std_db.
class OriginalFiles {
 public:
  OriginalFiles() {
    test::write_leak_sounds(folder_.path() / "sounds");
    const auto made =
        run_headrace(folder_.path(), {"prepare", "leak", "--sounds", "sounds", "--output", "out",
                                      "--limit", "8", "--no-waveforms"});
    REQUIRE_MESSAGE(made.status == 0, made.err);
    for (const char* split : {"training", "validation", "testing"}) {
      fs::copy_file(prepared(split), original(split));
      const H5::H5File file(original(split).c_str(), H5F_ACC_RDWR);
      replace(file, "labels_json", names);
      replace(file, "config_json", R"({"sample_rate": 4096, "n_mels": 64})");
    }
  }

  const fs::path& folder() const { return folder_.path(); }
  fs::path prepared(const std::string& split) const { return folder() / "out" / (split + ".h5"); }
  fs::path original(const std::string& split) const { return folder() / (split + ".h5"); }
  fs::path kept(const std::string& split) const {
    return original(split).string() + ".headrace-statistics";
  }
  /// Mean and deviation of the file's cells as they are stored, the plain way.
  std::pair<double, double> figures(const std::string& split) const;

 private:
  static void replace(const H5::H5File& file, const char* name, const std::string& text) {
    const H5::StrType type(H5::PredType::C_S1, H5T_VARIABLE);
    type.setCset(H5T_CSET_UTF8);
    file.removeAttr(name);
    const char* pointer = text.c_str();
    file.createAttribute(name, type, H5::DataSpace(H5S_SCALAR))
        .write(type, static_cast<const void*>(&pointer));
  }

  TemporaryFolder folder_;
};

double value_of(float16_t half) {
  const int exponent = half.bits >> 10 & 31;
  const double mantissa = half.bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
  return (half.bits & 0x8000U) != 0 ? -size : size;
}

std::pair<double, double> OriginalFiles::figures(const std::string& split) const {
  const Hdf5Table table(
      {.file = original(split), .fields = {{.name = "mel", .dataset = leak_mel_dataset}}});
  std::vector<double> cells;
  for (std::int64_t row = 0; row < table.size(); ++row) {
    Sample sample;
    table.read(row, sample);
    for (const float16_t cell : sample["mel"].values<float16_t>())
      cells.push_back(value_of(cell));
  }
  long double sum = 0.0L;
  for (const double cell : cells)
    sum += cell;
  const long double mean = sum / static_cast<long double>(cells.size());
  long double squares = 0.0L;
  for (const double cell : cells)
    squares += (cell - mean) * (cell - mean);
  const long double variance = squares / static_cast<long double>(cells.size());
  return {static_cast<double>(mean), static_cast<double>(std::sqrt(variance))};
}

/// A file of two recordings of one value each, and its attribute config_json.
void write_small(const fs::path& file, const Shape& recording, std::uint16_t second,
                 const std::string& config) {
  Tensor mel = Tensor::empty(DType::float16, recording.batched(2));
  const std::int64_t cells = recording.elements();
  for (std::int64_t i = 0; i < 2 * cells; ++i)
    mel.data<float16_t>()[i] = {i < cells ? std::uint16_t{0x4000} : second};  // 0x4000 is 2
  Hdf5Writer writer(file);
  writer.add(leak_mel_dataset, DType::float16, 2, recording);
  writer.append(leak_mel_dataset, mel);
  writer.add(leak_label_dataset, DType::int16, 2, {});
  const std::vector<std::int16_t> labels{3, 2};
  writer.append(leak_label_dataset, Tensor::of<std::int16_t>(labels, {2}));
  writer.attribute("labels_json", names);
  if (!config.empty()) writer.attribute("config_json", config);
  writer.finish();
}

std::string refusal(const fs::path& file) {
  try {
    read_leak_file(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a file without mean and deviation is read with those of its cells") {
  const OriginalFiles files;
  const std::string before = content_of(files.original("training"));
  const LeakFile prepared = read_leak_file(files.prepared("training"));
  const LeakFile original = read_leak_file(files.original("training"));
  const auto [mean, deviation] = files.figures("training");
  CHECK(std::abs(original.mean - mean) < 1e-12 * std::abs(mean));
  CHECK(std::abs(original.deviation - deviation) < 1e-12 * deviation);
  // `headrace prepare` takes its figures before it rounds the cells to half precision.
  CAPTURE(original.mean - prepared.mean);
  CAPTURE(original.deviation - prepared.deviation);
  CHECK(std::abs(original.mean - prepared.mean) < 2e-4);
  CHECK(std::abs(original.deviation - prepared.deviation) < 2e-4);
  CHECK(original.labels == prepared.labels);
  CHECK(content_of(files.original("training")) == before);
  CHECK_FALSE(fs::exists(files.prepared("training").string() + ".headrace-statistics"));
}

TEST_CASE("the figures are kept beside the file for as long as it has its size and time") {
  const OriginalFiles files;
  const fs::path kept = files.kept("training");
  const double mean = read_leak_file(files.original("training")).mean;
  REQUIRE(fs::exists(kept));
  CHECK(read_leak_file(files.original("training")).mean == mean);

  nlohmann::json marked = nlohmann::json::parse(content_of(kept));
  marked["mean_db"] = -1.5;
  std::ofstream(kept) << marked.dump();
  CHECK(read_leak_file(files.original("training")).mean == -1.5);

  fs::last_write_time(files.original("training"),
                      fs::last_write_time(files.original("training")) - std::chrono::seconds(5));
  CHECK(read_leak_file(files.original("training")).mean == mean);
  CHECK(nlohmann::json::parse(content_of(kept)).at("mean_db") == mean);

  for (const char* damaged : {"", "{", "[]", R"({"bytes": "x"})"}) {
    std::ofstream(kept) << damaged;
    CHECK(read_leak_file(files.original("training")).mean == mean);
  }
  marked = nlohmann::json::parse(content_of(kept));
  marked["std_db"] = 0;
  std::ofstream(kept) << marked.dump();
  CHECK(read_leak_file(files.original("training")).deviation > 1.0);
}

TEST_CASE("that figures were computed is said, and also where they cannot be kept") {
  const OriginalFiles files;
  std::ofstream(files.folder() / "job.yaml")
      << "kind: leak\ndata: {training: training.h5, validation: validation.h5, testing: "
         "testing.h5}\ntraining: {batch: 64}\n";
  const auto bench = [&] {
    const auto done =
        run_headrace(files.folder(), {"bench", "loader", "job.yaml", "--epochs", "1"});
    CHECK_MESSAGE(done.status == 0, done.err);
    return done.err;
  };
  fs::create_directory(files.kept("training"));
  for (int i = 0; i < 2; ++i) {
    const std::string said = bench();
    CHECK(contains(said, "training.h5 has no mean_db and std_db"));
    CHECK(contains(said, "8 recordings"));
    CHECK(contains(said, "not kept"));
  }
  fs::remove(files.kept("training"));
  CHECK(contains(bench(), "kept in training.h5.headrace-statistics"));
  CHECK_FALSE(contains(bench(), "mean_db"));
}

TEST_CASE("files beside the training file take its figures and are not read for them") {
  const OriginalFiles files;
  const LeakFile training = read_leak_file(files.original("training"));
  const LeakFile validation = read_leak_file(files.original("validation"), &training);
  CHECK(validation.mean == training.mean);
  CHECK(validation.deviation == training.deviation);
  CHECK(validation.labels.size() == 2);
  CHECK_FALSE(fs::exists(files.kept("validation")));
}

TEST_CASE("a recording's channel axis of one, as the original may have it, changes nothing") {
  const TemporaryFolder folder;
  write_small(folder / "plain.h5", {3, 2, 4, 5}, 0x4400, {});
  write_small(folder / "channel.h5", {3, 2, 1, 4, 5}, 0x4400, {});  // 0x4400 is 4
  const LeakFile plain = read_leak_file(folder / "plain.h5");
  const LeakFile channel = read_leak_file(folder / "channel.h5");
  CHECK(channel.mels == 4);
  CHECK(channel.frames == 5);
  CHECK(channel.mean == 3.0);
  CHECK(channel.deviation == 1.0);
  CHECK(plain.mean == 3.0);
  const auto from_plain = plan_leak_segments(plain, 1U << 20).open();
  const auto from_channel = plan_leak_segments(channel, 1U << 20).open();
  REQUIRE(from_channel->size() == 12);
  CHECK(from_channel->fields() == from_plain->fields());
  Sample sample;
  from_channel->read(7, sample);
  CHECK(sample["mel"].shape() == Shape{4, 5});
  CHECK(sample["mel"].data<float16_t>()[19].bits == 0x4400);
  write_small(folder / "two.h5", {3, 2, 2, 4, 5}, 0x4400, {});
  CHECK(contains(refusal(folder / "two.h5"), "segments_mel"));
}

TEST_CASE("figures that cannot be are refused with the file and what came") {
  const TemporaryFolder folder;
  write_small(folder / "nan.h5", {3, 2, 4, 5}, 0x7e00, {});
  CHECK(contains(refusal(folder / "nan.h5"), "recording 1"));
  write_small(folder / "infinite.h5", {3, 2, 4, 5}, 0xfc00, {});
  CHECK(contains(refusal(folder / "infinite.h5"), "recording 1"));
  write_small(folder / "half.h5", {3, 2, 4, 5}, 0x4400, R"({"mean_db": -40})");
  CHECK(contains(refusal(folder / "half.h5"), "std_db"));
  write_small(folder / "text.h5", {3, 2, 4, 5}, 0x4400, R"({"mean_db": "x", "std_db": 8})");
  CHECK(contains(refusal(folder / "text.h5"), "mean_db"));
  write_small(folder / "zero.h5", {3, 2, 4, 5}, 0x4400, R"({"mean_db": -40, "std_db": 0})");
  CHECK(contains(refusal(folder / "zero.h5"), "std_db"));
  write_small(folder / "no.h5", {3, 2, 4, 5}, 0x4400, "no JSON");
  CHECK(contains(refusal(folder / "no.h5"), "config_json"));
}

TEST_CASE("a recording that is not finite is a bad sample with its name, whoever reads it") {
  const TemporaryFolder folder;
  for (const std::uint16_t bad : {0x7e00, 0xfc00}) {
    write_small(folder / "bad.h5", {3, 2, 4, 5}, bad, R"({"mean_db": -40, "std_db": 8})");
    const LeakFile file = read_leak_file(folder / "bad.h5");
    const PlannedSource planned = plan_leak_segments(file, 1U << 20);
    for (const auto& segments : {planned.outline, planned.open()}) {
      Sample sample;
      CHECK_NOTHROW(segments->read(5, sample));
      CHECK_THROWS_WITH_AS(segments->read(6, sample), doctest::Contains("must hold finite numbers"),
                           DataError);
      Loader loader = leak_evaluation_pipeline(segments, 4, Device::cpu()).build();
      std::string said;
      try {
        for (Batch& batch : loader.epoch(0))
          static_cast<void>(batch);
      } catch (const DataError& error) {
        said = error.what();
      }
      CHECK_MESSAGE(contains(said, "segment 0.0"), said);
    }
    CHECK_THROWS_WITH_AS(plan_leak_table(file, 1U << 20, {}, Device::cpu()).open(),
                         doctest::Contains("must hold finite numbers"), DataError);
  }
}
