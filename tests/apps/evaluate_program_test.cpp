// What a run's folder is good for afterwards: figures on labelled data, weights for others.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using nlohmann::json;

namespace fs = std::filesystem;

// A folder with data, a configuration of two folds, and a run of them.
class Trained : public headrace::test::TrainingFolder {
 public:
  explicit Trained(const std::vector<std::string>& settings = {})
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\n  folds: 2\ntraining:\n"
            "  epochs: 2\n  batch: 10\n  evaluation_batch: 20\n"
            "threads:\n  loader: 1\n  torch: 1\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 100, 20);
    const Finished finished = run(train(settings));
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    folder = only_run();
  }

  Finished evaluate(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"evaluate", "--checkpoint", folder.string(), "--data", "data.h5"});
    return run(more);
  }

  json figures(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"--output", "figures.json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = evaluate(words);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return json::parse(content_of(path() / "figures.json"));
  }

  json result() const { return json::parse(content_of(folder / "result.json")); }

  fs::path folder;
};

// The header of a safetensors file.
json header_of(const fs::path& file) {
  const std::string bytes = content_of(file);
  std::uint64_t length = 0;
  REQUIRE(bytes.size() > sizeof length);
  std::memcpy(&length, bytes.data(), sizeof length);
  return json::parse(bytes.substr(sizeof length, length));
}

std::set<std::string> names_of(const json& header) {
  std::set<std::string> names;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__") names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("evaluate on the test gives what the run itself said of it, each fold and their vote") {
  const Trained job;
  const json all = job.figures({"--split", "test"});
  const json result = job.result();
  CHECK(all.at("samples") == 20);
  REQUIRE(all.at("members").size() == 2);
  for (std::size_t fold = 0; fold < 2; ++fold) {
    const json& test = result.at("members").at(fold).at("test");
    const json& found = all.at("members").at(fold).at("figures");
    CHECK(found.size() == test.size());
    for (const auto& [name, value] : test.items())
      CHECK(found.at(name).get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-12));
    CHECK(all.at("members").at(fold).at("confusion") ==
          result.at("members").at(fold).at("confusion"));
  }
  CHECK(all.at("vote") == result.at("vote").at("test"));
  CHECK(job.figures({}).at("members") == all.at("members"));
  CHECK(job.figures({"--split", "all"}).at("samples") == 120);
  CHECK(job.figures({"--split", "train"}).at("samples") == 100);

  const Finished table = job.evaluate();
  for (const char* word : {"figure", "vote", "mean", "lowest", "highest", "macro f1", "loss"})
    CHECK_MESSAGE(contains(table.out, word), word);
  CHECK(contains(table.err, "20 samples, 2 of 2 votes"));
  const Finished wrong = job.evaluate({"--split", "tests"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "must be test, train or all"));
  const Finished pictures = job.evaluate({"--worst", "worst.png"});
  CHECK(pictures.status == 2);
  CHECK(contains(pictures.err, "the kind glaucoma has no pictures to draw"));
}

TEST_CASE("predict writes JSON lines for a name that says so") {
  const Trained job({"training.member=0"});
  const Finished finished = job.run({"predict", "--checkpoint", job.folder.string(), "--data",
                                     "data.h5", "--output", "out.jsonl"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const std::string text = content_of(job.path() / "out.jsonl");
  CHECK(std::count(text.begin(), text.end(), '\n') == 120);
  const json first = json::parse(text.substr(0, text.find('\n')));
  CHECK(first.at("index") == 0);
  CHECK(contains(first.at("file"), "data.h5"));
  CHECK(first.at("probabilities").size() == 5);
  CHECK(first.at("predicted").is_number_integer());
}

TEST_CASE("export writes the weights of each member under the network's names, without the run's") {
  const Trained job;
  const Finished all = job.run({"export", job.folder.string()});
  REQUIRE_MESSAGE(all.status == 0, all.err);
  for (const std::string fold : {"fold-0", "fold-1"}) {
    const fs::path file = job.folder / ("model-" + fold + ".safetensors");
    CHECK(contains(all.out, file.string()));
    const json header = header_of(file);
    const json best = header_of(job.folder / "checkpoints" / fold / "best.safetensors");
    CHECK((names_of(header) == names_of(best)));
    CHECK((header.at("__metadata__") == json{{"format", "pt"},
                                             {"task", "classification"},
                                             {"network", "efficient_glaucoma_cnn"},
                                             {"classes", "5"},
                                             {"normalisation", "imagenet"},
                                             {"member", fold},
                                             {"selected_by", "accuracy"}}));
  }
  const Finished one =
      job.run({"export", job.folder.string(), "--member", "1", "--output", "net.safetensors"});
  REQUIRE_MESSAGE(one.status == 0, one.err);
  CHECK(content_of(job.path() / "net.safetensors") ==
        content_of(job.folder / "model-fold-1.safetensors"));
  const Finished none = job.run({"export", job.folder.string(), "--member", "7"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "has 0, 1"));
  CHECK(job.run({"export", "data.h5"}).status == 6);
}

TEST_CASE("a run's results are a table and a picture") {
  const Trained job;
  const std::string csv = content_of(job.folder / "results.csv");
  CHECK(csv.starts_with("member,selected_by,best_epoch,val_accuracy,"));
  CHECK(contains(csv, "\nfold 0,accuracy,"));
  CHECK(contains(csv, "\nall together,accuracy,,"));
  CHECK(content_of(job.folder / "results.png").starts_with("\x89PNG"));
}
