// A network from TorchScript, from a configuration to a file for Python.
#include <headrace/models/networks/script_network.h>
#include <headrace/tests/apps/classification/picture_script.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/pretrained.h>
#include <headrace/training/checkpoint/safetensors.h>

#include "../../support/torch_doctest.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace models = headrace::models;
namespace training = headrace::training;
using namespace headrace::test;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A folder with pictures of two classes, a script for them and a configuration of both.
class ScriptJob : public TrainingFolder {
 public:
  ScriptJob()
      : TrainingFolder(
            "kind: classification\nseed: 3\ndevice: cpu\n"
            "data: {train: {source: images, folder: pictures}, listings: \"\"}\n"
            "image: {size: 32}\nmodel: {torchscript: net.pt}\n"
            "training: {epochs: 2, batch: 4, learning_rate: 0.05}\nthreads: {torch: 1}\n"
            "memory: {measure: false}\n") {
    write_png_pictures(path() / "pictures", 40);
    picture_script(2).save((path() / "net.pt").string(), {{"state_names", picture_script_state}});
  }

  fs::path trained(const Words& settings, const std::string& parent) const {
    Words all = settings;
    all.push_back("runs=" + parent);
    const Finished finished = run(train(all));
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return only_run(parent);
  }
  void done(const Words& words) const {
    const Finished finished = run(words);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
  }
};

std::set<std::string> names_of(const training::TensorMap& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors)
    names.insert(name);
  return names;
}

at::Tensor logits_of(models::Network& network) {
  at::manual_seed(5);
  network.set_training(false);
  return network.forward(at::randn({4, 3, 32, 32}));
}

}  // namespace

TEST_CASE("a network from TorchScript goes from a configuration to files that Python reads") {
  const ScriptJob job;
  const fs::path run = job.trained({}, "runs");
  job.done({"predict", "--checkpoint", run.string(), "--data", "pictures", "--output", "p.csv"});
  CHECK(contains(content_of(job.path() / "p.csv"), "p_a,p_b"));
  job.done({"evaluate", "--checkpoint", run.string(), "--data", "pictures", "--output", "e.json"});
  CHECK(contains(content_of(job.path() / "e.json"), "macro_f1"));
  job.done({"export", run.string()});

  const training::TensorMap weights = training::read_safetensors(run / "model.safetensors").tensors;
  CHECK((names_of(weights) ==
         std::set<std::string>{"stem", "head", "tied", "bias", "mean", "variance"}));
  CHECK(at::equal(weights.at("head"), weights.at("tied")));

  // The script with the weights that were trained, and nothing else.
  const auto exported = models::read_script_network(run / "model.torchscript");
  const auto filled = models::read_script_network(job.path() / "net.pt");
  const at::Tensor fresh = logits_of(*filled);
  training::load_weights(
      *filled, training::read_best_weights(run / "checkpoints/run/best.safetensors").weights);
  CHECK(at::equal(logits_of(*exported), logits_of(*filled)));
  CHECK_FALSE(at::equal(logits_of(*exported), fresh));
  CHECK(names_of(training::snapshot(*exported)) == names_of(training::snapshot(*filled)));

  job.done({"export", run.string(), "--output", "other.safetensors"});
  CHECK(fs::exists(job.path() / "other.torchscript"));
  const Finished wrong = job.run({"export", run.string(), "--output", "net.torchscript"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "--output must name the safetensors file"));
}

TEST_CASE("the glaucoma job trains a network from TorchScript") {
  const TrainingFolder job(
      "kind: glaucoma\ndevice: cpu\ndata: {file: data.h5}\nmodel: {torchscript: net.pt}\n"
      "training: {epochs: 1, batch: 16, member: 0}\nthreads: {torch: 1}\n");
  write_glaucoma_data(job.path() / "data.h5", 100, 20);
  picture_script(5).save((job.path() / "net.pt").string());
  const Finished trained = job.run(TrainingFolder::train({"runs=runs"}));
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const std::string run = job.only_run().string();
  const Finished predicted =
      job.run({"predict", "--checkpoint", run, "--data", "data.h5", "--output", "p.csv"});
  CHECK_MESSAGE(predicted.status == 0, predicted.err);
  const Finished exported = job.run({"export", run});
  REQUIRE_MESSAGE(exported.status == 0, exported.err);
  CHECK_NOTHROW(models::read_script_network(fs::path(run) / "model.torchscript"));
  picture_script(3).save((job.path() / "net.pt").string());
  const Finished wrong = job.run(TrainingFolder::train({"runs=wrong"}));
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "must have an output for each of 5 classes"));
}

TEST_CASE("a script starts from weights that were exported of it, under one name or both") {
  const ScriptJob job;
  job.done({"export", job.trained({}, "first").string(), "--output", "both.safetensors"});
  training::TensorFile file = training::read_safetensors(job.path() / "both.safetensors");
  file.tensors.erase("head");  // what is left is "tied"
  training::write_safetensors(job.path() / "one.safetensors", file);
  // Frozen weights stay as they are read.
  for (const char* name : {"both", "one"}) {
    CAPTURE(name);
    const fs::path run = job.trained(
        {std::string("model.weights=") + name + ".safetensors", "model.frozen=[head]"}, name);
    const training::TensorMap weights =
        training::read_best_weights(run / "checkpoints/run/best.safetensors").weights;
    CHECK(at::equal(weights.at("head"), file.tensors.at("tied")));
    CHECK_FALSE(at::equal(weights.at("stem"), file.tensors.at("stem")));
  }
}
