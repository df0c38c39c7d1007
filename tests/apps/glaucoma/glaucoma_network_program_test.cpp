// The glaucoma job with another network than its own.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace::test;
namespace fs = std::filesystem;

class Job : public TrainingFolder {
 public:
  Job()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata: {file: data.h5}\n"
            "training: {epochs: 1, batch: 16, member: 0}\nthreads: {loader: 1, torch: 1}\n") {
    write_glaucoma_data(path() / "data.h5", 120, 30);
  }
};

}  // namespace

TEST_CASE("the glaucoma job trains another network by name, from weights of its own") {
  const Job job;
  const std::vector<std::string> resnet{"model.name=resnet18", "model.width=0.125"};
  job.done(Job::train(resnet));
  const fs::path run = job.only_run();
  CHECK(contains(content_of(run / "config.yaml"), "name: resnet18"));
  job.done({"predict", "--checkpoint", run.string(), "--data", "data.h5", "--output", "p.csv"});
  job.done({"evaluate", "--checkpoint", run.string(), "--data", "data.h5"});
  job.done({"export", run.string(), "--output", "resnet.safetensors"});
  const std::string exported = content_of(job.path() / "resnet.safetensors").substr(0, 40000);
  CHECK(contains(exported, "layer4.1.bn2.num_batches_tracked"));
  CHECK(contains(exported, "\"network\":\"resnet18, width 0.125\""));

  std::vector<std::string> settings = resnet;
  settings.insert(settings.end(),
                  {"runs=again", "model.weights=resnet.safetensors", "model.frozen=[layer1]"});
  CHECK(contains(job.done(Job::train(settings)).err, "resnet.safetensors: 122 tensors loaded"));
  const Finished other = job.run(
      {"train", "--resume", job.only_run("again").string(), "--set", "model.name=resnet34"});
  CHECK(other.status == 2);
  CHECK(contains(other.err, "model.name was resnet18, got resnet34"));

  settings = resnet;
  settings.insert(settings.end(), {"runs=deep", "model.weights=resnet.safetensors",
                                   "model.hidden=[8]", "model.dropout=[0.5, 0.2]"});
  CHECK(contains(job.done(Job::train(settings)).err, "120 tensors loaded; 9 new: fc.1.weight"));
  const std::string deep = job.only_run("deep").string();
  job.done({"export", deep, "--output", "deep.safetensors"});
  CHECK(contains(content_of(job.path() / "deep.safetensors").substr(0, 40000),
                 "resnet18, width 0.125, hidden [8], dropout [0.5, 0.2]"));
  const Finished wider = job.run({"train", "--resume", deep, "--set", "model.hidden=[16]"});
  CHECK(wider.status == 2);
  CHECK(contains(wider.err, "model.hidden.0 was 8, got 16"));
}

TEST_CASE("the glaucoma job refuses networks that are none for its maps") {
  const Job job;
  const auto refusal = [&](const std::vector<std::string>& settings) {
    const Finished finished = job.run(Job::train(settings));
    CHECK(finished.status == 2);
    CHECK_FALSE(fs::exists(job.path() / "runs"));
    return finished.err;
  };
  CHECK(contains(refusal({"model.name=resnet81"}), "did you mean \"resnet18\"?"));
  CHECK(contains(refusal({"model.name=unet"}), "model.name must be one of resnet18"));
  CHECK(contains(refusal({"model.in_channels=6"}), "must be 3, the channels of the data, got 6"));
  CHECK(contains(refusal({"model.width=0.5"}), "\"efficient_glaucoma_cnn\" has no width factor"));
  CHECK(contains(refusal({"model.frozen=[stem]"}), "give model.weights"));
}
