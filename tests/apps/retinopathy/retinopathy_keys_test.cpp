#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/engine/base/error.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using app::RetinopathyConfig;

std::shared_ptr<const RetinopathyConfig> read(const std::vector<std::string>& settings) {
  const std::string yaml = "kind: retinopathy\ndata: {train: {source: images, folder: a}}\n";
  return std::dynamic_pointer_cast<const RetinopathyConfig>(
      app::read_training_text(app::jobs(), yaml, "job.yaml", settings).config);
}

}  // namespace

TEST_CASE("without keys the job is the original's: a pair's network, its loss and its steps") {
  const auto config = read({});
  CHECK(config->pairs());
  CHECK(app::name_of(config->task.loss.front()) == "bce");
  CHECK(config->task.model.name == "seresnext50_32x4d");
  CHECK(config->task.model.hidden == std::vector<std::int64_t>{512, 128});
  CHECK(config->training.accumulation == 2);
  CHECK(config->training.groups.at(1).rate_factor == 0.1);
  CHECK(config->training.stop_at == 1.0);
}

TEST_CASE("one network for all classes has a loss and a head of its own, but not where keys say") {
  const auto config = read({"method=multi_class"});
  CHECK(app::name_of(config->task.loss.front()) == "cross_entropy");
  CHECK(config->task.model.hidden == std::vector<std::int64_t>{1024, 512, 256});
  const auto plain = read({"method=multi_class", "model.hidden=[]", "model.dropout=[]"});
  CHECK(plain->task.model.hidden.empty());
  CHECK(plain->task.model.dropout.empty());
}

TEST_CASE("another network has its own classifier and one rate, unless keys say more") {
  const auto other = read({"model.name=efficient_glaucoma_cnn"});
  CHECK(other->task.model.hidden.empty());
  CHECK(other->task.model.dropout.empty());
  CHECK(other->training.groups.empty());
  const auto said = read({"model.name=resnet18", "model.hidden=[8]", "model.dropout=[0.5]",
                          "training.groups=[{pattern: fc., rate_factor: 2}]"});
  CHECK(said->task.model.hidden == std::vector<std::int64_t>{8});
  CHECK(said->training.groups.size() == 1);
}

TEST_CASE("a loss that selects ends no pair at 1") {
  CHECK_FALSE(read({"selected_by=loss"})->training.stop_at.has_value());
  CHECK(read({"selected_by=loss", "training.stop_at=0.01"})->training.stop_at == 0.01);
}

TEST_CASE("keys that would not be used, or not fit each other, are refused") {
  const auto refused = [](const std::vector<std::string>& settings, const char* said) {
    CHECK_THROWS_WITH_AS(read(settings), doctest::Contains(said), ConfigError);
  };
  refused({"method=multi_class", "vote.by=hard"}, "method is one_vs_one");
  refused({"data.split.folds=5"}, "data.split.folds");
  refused({"selected_by=qwk"}, "selected_by");
  refused({"vote.by=majority"}, "vote.by");
  refused({"vote.boosts=[-1, 1]"}, "vote.boosts");
  refused({"batch_size=8"}, "batch_size");
  CHECK(read({"method=multi_class", "selected_by=qwk"})->task.selected_by == "qwk");
}
