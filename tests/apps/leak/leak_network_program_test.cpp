// The leak job with another network than its own.
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/leak/leak_folder.h>
#include <headrace/tests/support/content_of.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using namespace headrace::test;
namespace fs = std::filesystem;

struct NetworkTraining : LeakFolder {
  NetworkTraining()
      : LeakFolder("training: {epochs: 1, batch: 64, evaluation_batch: 80, schedule: constant}\n") {
  }
};

// A file of four recordings of 2 x 3 segments with 40 mels each.
void write_few_mels(const fs::path& path) {
  const Shape recording{2, 3, 40, 5};
  Hdf5Writer writer(path);
  writer.add(app::leak_mel_dataset, DType::float16, 4, recording);
  std::vector<float16_t> cells(static_cast<std::size_t>(4 * recording.elements()), {0x4000});
  writer.append(app::leak_mel_dataset, Tensor::of<float16_t>(cells, recording.batched(4)));
  writer.add(app::leak_label_dataset, DType::int16, 4, {});
  const std::vector<std::int16_t> labels{0, 1, 0, 1};
  writer.append(app::leak_label_dataset, Tensor::of<std::int16_t>(labels, {4}));
  writer.attribute("labels_json", R"(["OTHER", "LEAK"])");
  writer.attribute("config_json", R"({"mean_db": 2, "std_db": 1})");
  writer.finish();
}

}  // namespace

TEST_CASE("spectrograms of too few mels for the leak job's own network are refused at once") {
  const NetworkTraining job;
  job.done(NetworkTraining::train({"memory.measure=false"}));
  const std::string run = job.only_run().string();
  for (const char* name : {"training", "validation", "testing"}) {
    fs::remove(job.path() / "data" / (std::string(name) + ".h5"));
    write_few_mels(job.path() / "data" / (std::string(name) + ".h5"));
  }
  const char* rule = "leak_cnn needs 64 mels or more, got 40";
  for (const std::vector<std::string>& words :
       {NetworkTraining::train({"runs=few"}),
        {"predict", "--checkpoint", run, "--data", "data/testing.h5", "--output", "p.csv"},
        {"evaluate", "--checkpoint", run, "--data", "data/testing.h5"}}) {
    const Finished finished = job.run(words);
    CHECK_MESSAGE(finished.status == 2, finished.err);
    CHECK_MESSAGE(contains(finished.err, rule), finished.err);
  }
  CHECK_FALSE(fs::exists(job.path() / "few"));
}

TEST_CASE("the leak job trains another network by name, without the auxiliary head") {
  const NetworkTraining job;
  job.done(NetworkTraining::train({"model.name=resnet18", "model.width=0.125"}));
  const fs::path run = job.only_run();
  CHECK(contains(content_of(run / "checkpoints/run/result.json"), "segment_auc"));
  CHECK_FALSE(contains(content_of(run / "metrics.csv"), "auxiliary"));
  CHECK_FALSE(contains(content_of(run / "config.yaml"), "auxiliary"));
  job.done(
      {"predict", "--checkpoint", run.string(), "--data", "data/testing.h5", "--output", "p.csv"});
  job.done({"evaluate", "--checkpoint", run.string(), "--data", "data/testing.h5"});
  job.done({"export", run.string()});
  CHECK(contains(content_of(run / "model.safetensors").substr(0, 40000), "\"shape\":[8,1,7,7]"));
}

TEST_CASE("the leak job's own network starts from weights, too, and others are refused by rule") {
  const NetworkTraining job;
  REQUIRE(job.run(NetworkTraining::train({"runs=first", "memory.measure=false"})).status == 0);
  REQUIRE(
      job.run({"export", job.only_run("first").string(), "--output", "leak.safetensors"}).status ==
      0);
  const Finished again =
      job.run(NetworkTraining::train({"runs=again", "model.weights=leak.safetensors",
                                      "model.frozen=[conv1]", "memory.measure=false"}));
  REQUIRE_MESSAGE(again.status == 0, again.err);
  CHECK(contains(again.err, "leak.safetensors: 12 tensors loaded"));

  const auto refusal = [&](const std::vector<std::string>& settings) {
    const Finished finished = job.run(NetworkTraining::train(settings));
    CHECK(finished.status == 2);
    CHECK_FALSE(fs::exists(job.path() / "runs"));
    return finished.err;
  };
  CHECK(contains(refusal({"model.name=resnet18", "loss.auxiliary=0.5"}),
                 "not used unless model.name is leak_cnn"));
  CHECK(contains(refusal({"model.name=leak_cn"}), "did you mean \"leak_cnn\"?"));
  CHECK(contains(refusal({"model.name=efficient_glaucoma_cnn"}), "name another network"));
  CHECK(contains(refusal({"model.in_channels=3"}), "must be 1, the channels of the data, got 3"));
  CHECK(contains(refusal({"model.width=0.5"}), "model.width must be 1 for leak_cnn"));
  CHECK(contains(refusal({"model.dropout=[0.5]"}), "must be empty for leak_cnn"));
}
