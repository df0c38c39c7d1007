// Faults that are planted into a configuration: `headrace doctor` names exactly that, and none
// where nothing is wrong. Part of the long tier: who is slow hangs on what else the machine does.
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/measure/doctor/planted_job.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

struct Planted {
  std::vector<std::string> settings;
  std::string rule;    ///< that speaks
  std::string stage;   ///< that the verdict names
  std::string change;  ///< in the sentence: the key with its old value
};

// What the one thing could be about; each case may speak of its own alone.
const std::vector<std::string> all_settings{"threads.loader",      "threads.io",   "data.prefetch",
                                            "time a sample",       "ulimit -n",    "renice",
                                            "headrace pack table", "data.resident"};

void check_named(const nlohmann::json& found, const Planted& planted) {
  CAPTURE(planted.change);
  CAPTURE(found.at("memory_verdict").dump());
  REQUIRE(found.contains("advice"));
  const auto& advice = found.at("advice");
  CHECK(advice.at("rule") == planted.rule);
  CHECK(advice.at("evidence").size() >= 3);
  CHECK_FALSE(advice.at("effect").get<std::string>().empty());
  CHECK_FALSE(advice.at("check").get<std::string>().empty());
  const std::string to_do = found.at("to_do");
  CAPTURE(to_do);
  CHECK(contains(to_do, planted.change));
  for (const std::string& other : all_settings)
    if (!contains(planted.change, other)) CHECK_MESSAGE(!contains(to_do, other), other);
}

// So that there are many of them in a short window.
std::vector<std::string> short_steps(std::vector<std::string> settings) {
  settings.emplace_back("batch=4");
  return settings;
}

}  // namespace

TEST_CASE("doctor names the stage that a delay was planted into, and its key, and no other") {
  const PlantedJob job;
  for (const Planted& planted :
       {Planted{{"delay.read=20ms"}, "raise-io-threads", "read", "raise threads.io 2 -> "},
        Planted{{"delay.decode=5ms"}, "raise-threads", "decode", "raise threads.loader 1 -> "},
        Planted{{"delay.augment=5ms"}, "raise-threads", "augment", "raise threads.loader 1 -> "},
        Planted{{"delay.transfer=40ms"},
                "smaller-transfer",
                "transfer",
                "transfer delay time a sample "}}) {
    const auto found = job.doctor(short_steps(planted.settings));
    CHECK(found.at("limit") == "preparation");
    CHECK(found.at("memory_verdict").at("stage") == planted.stage);
    CHECK(contains(found.at("advice").at("verdict"), planted.stage));
    check_named(found, planted);
  }
}

TEST_CASE("doctor tells one slow record in 64 from a stage that is slow") {
  const PlantedJob job;
  const std::vector<std::string> slow{"delay.read=200ms", "delay.read_every=64", "threads.io=4",
                                      "delay.consumer=5ms"};
  check_named(job.doctor(slow, 0, "0.5"), {slow, "slow-sample", "read", "set data.prefetch 4 -> "});
}

TEST_CASE("doctor names chunks that rows in any order do not fit, in order it does not") {
  const PlantedJob job;
  constexpr std::int64_t rows = 8192, chunk = 64;
  Hdf5Writer writer(job.path() / "rows.h5");
  writer.add("x", DType::float32, rows, {64}, {.chunk_rows = chunk, .codec = Hdf5Codec::lz4});
  writer.append("x", Tensor::zeros(DType::float32, {rows, 64}));
  writer.finish();
  const std::vector<std::string> from_file{
      "data={source: hdf5, file: rows.h5, datasets: [x], "
      "resident: 64KiB}",
      "threads.io=1", "delay.consumer=0s"};
  const auto with = [&](const char* order) {
    std::vector<std::string> settings = from_file;
    settings.emplace_back(order);
    return job.doctor(settings);
  };
  check_named(with("shuffle=true"),
              {{}, "chunk-shape", "read", "headrace pack table --layout chunks of 64 rows -> "});
  CHECK_FALSE(contains(with("shuffle=false").at("to_do"), "headrace pack table"));
}

TEST_CASE("doctor leaves a healthy pipeline alone") {
  const PlantedJob job;
  const auto found = job.doctor({});
  CHECK(found.at("limit") == "device");
  CHECK(found.at("to_do").get<std::string>().starts_with("stop tuning input"));
  CHECK_FALSE(found.contains("advice"));
  CHECK(found.at("memory_verdict").at("stage") == "consumer");
}
