#include <headrace/tests/apps/leak/leak_folder.h>
#include <headrace/tests/support/content_of.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>

#include <H5Cpp.h>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace headrace::test;
namespace fs = std::filesystem;

// 2 epochs of 10 steps.
struct LeakTraining : LeakFolder {
  LeakTraining()
      : LeakFolder(
            "augment: [spec_augment]\n"
            "training: {epochs: 2, batch: 64, evaluation_batch: 80, schedule: {cosine: 1}}\n") {}
};

}  // namespace

TEST_CASE("train leak says AUC, threshold and the decisions about test recordings") {
  const LeakTraining job;
  const Finished finished = job.run(LeakTraining::train({"runs=runs"}));
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  for (const char* word : {"test f1", "threshold", "segment auc", "false negative"}) {
    CHECK_MESSAGE(contains(finished.out, word), word);
  }
  const fs::path run = job.only_run();
  const std::string result = content_of(run / "checkpoints/run/result.json");
  CHECK(contains(result, "segment_auc"));
  const std::string metrics = content_of(run / "metrics.csv");
  for (const char* column :
       {"val_f1", "val_threshold", "val_loss_auxiliary", "train_loss_classes", "train_accuracy"})
    CHECK_MESSAGE(contains(metrics, column), column);
  const Finished again = job.run({"train", "--resume", run.string()});
  CHECK(again.status == 0);
  CHECK(again.out == finished.out);  // nothing is left to train
}

TEST_CASE(
    "a leak run that SIGINT stopped inside an epoch, or out of a table, ends as one that was not") {
  const LeakTraining job;
  const Finished whole = job.run(LeakTraining::train({"runs=whole"}));
  REQUIRE_MESSAGE(whole.status == 0, whole.err);
  const fs::path cut = job.stop_in_first_epoch("cut").run;
  const Finished resumed =
      job.run({"train", "--resume", cut.string(), "--set", "delay.transfer=0ms"});
  REQUIRE_MESSAGE(resumed.status == 0, resumed.err);
  const fs::path uncut = job.only_run("whole");
  // Weights, moments and generators agree bit for bit only if every batch did.
  CHECK(content_of(newest_checkpoint(cut)) == content_of(newest_checkpoint(uncut)));
  CHECK(best_weights(cut) == best_weights(uncut));
  CHECK(resumed.out == whole.out);

  const Finished device = job.run(LeakTraining::train({"runs=device", "data.residence=device"}));
  REQUIRE_MESSAGE(device.status == 0, device.err);
  CHECK(content_of(newest_checkpoint(job.only_run("device"))) ==
        content_of(newest_checkpoint(uncut)));

  const Finished other = job.run(LeakTraining::train({"runs=other", "seed=8"}));
  REQUIRE(other.status == 0);
  CHECK(content_of(newest_checkpoint(job.only_run("other"))) !=
        content_of(newest_checkpoint(uncut)));
}

TEST_CASE("train leak refuses keys that are of no use and files that are none") {
  const LeakTraining job;
  const Finished unused = job.run(LeakTraining::train({"data.spec_augment.time_masks=2"}));
  CHECK(unused.status == 2);
  CHECK(contains(unused.err, "spec_augment"));
  const Finished warm = job.run(LeakTraining::train({"training.schedule.cosine.warmup_epochs=3"}));
  CHECK(warm.status == 2);
  const Finished missing = job.run(LeakTraining::train({"data.testing=nowhere.h5"}));
  CHECK(missing.status != 0);
  CHECK(contains(missing.err, "nowhere.h5"));
}

TEST_CASE("predict of recordings without labels decides at the threshold that validation fitted") {
  const LeakTraining job;
  REQUIRE(job.run(LeakTraining::train({})).status == 0);
  fs::copy_file(job.path() / "data/testing.h5", job.path() / "new.h5");
  const auto predict = [&](const char* data) {
    const Finished finished = job.run({"predict", "--checkpoint", job.runs().front().string(),
                                       "--data", data, "--output", "out.csv"});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return content_of(job.path() / "out.csv");
  };
  const std::string labelled = predict("new.h5");
  const Finished judged = job.run({"evaluate", "--checkpoint", job.runs().front().string(),
                                   "--data", "new.h5", "--output", "figures.json"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK((nlohmann::json::parse(content_of(job.path() / "figures.json"))
             .at("members")
             .at(0)
             .at("figures")
             .at("f1") ==
         nlohmann::json::parse(content_of(job.runs().front() / "checkpoints/run/result.json"))
             .at("test")
             .at("f1")));
  H5::H5File(job.path() / "new.h5", H5F_ACC_RDWR).unlink("/labels");
  const Finished unlabelled =
      job.run({"evaluate", "--checkpoint", job.runs().front().string(), "--data", "new.h5"});
  CHECK(unlabelled.status == 2);
  CHECK(contains(unlabelled.err, "/labels"));
  CHECK(predict("new.h5") == labelled);

  const std::string result = content_of(job.runs().front() / "checkpoints/run/result.json");
  const std::string mark = "\"threshold\":";
  const auto at = result.find(mark);
  REQUIRE(at != std::string::npos);
  const double threshold = std::stod(result.substr(at + mark.size()));
  std::istringstream csv(labelled);
  std::string line;
  std::getline(csv, line);
  std::int64_t rows = 0;
  while (std::getline(csv, line)) {
    double index = 0.0;
    double other = 0.0;
    double leak = 0.0;
    int predicted = -1;
    REQUIRE(std::sscanf(line.c_str(), "%lf,%*[^,],%lf,%lf,%d", &index, &other, &leak, &predicted) ==
            4);
    // To six digits, as they are written.
    if (std::abs(leak - threshold) > 1e-6) CHECK(predicted == (leak > threshold ? 1 : 0));
    ++rows;
  }
  CHECK(rows > 0);
}
