// What a run says of pictures: masks of their size, and figures of each fold and of all together.
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/content_of.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::TrainingFolder;
using nlohmann::json;

namespace fs = std::filesystem;

// Two folds that have learnt squares, values 0 and 255.
class Trained : public TrainingFolder {
 public:
  explicit Trained(const std::string& more) {
    headrace::test::write_squares(path() / "data/images", path() / "data/masks", 24, 255, 32);
    std::ofstream(path() / "job.yaml")
        << "kind: segmentation\ndata:\n  train: {folder: data/images, masks: data/masks}\n"
           "  split: {folds: 2, test: 0.25}\n"
           "mask: {classes: [{name: ground, values: [0]}, {name: square, values: [255, 254]}]}\n"
        << more;
    const Finished trained = train_small({"job.yaml", "--set", "training.epochs=4"});
    REQUIRE_MESSAGE(trained.status == 0, trained.err);
    folder = only_run();
  }

  Finished predict(const std::string& data, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"predict", "--checkpoint", folder.string(), "--data", data};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  json evaluate(const std::string& data) const {
    const Finished judged = run({"evaluate", "--checkpoint", folder.string(), "--data", data,
                                 "--split", "all", "--output", "e.json", "--worst", "w.png"});
    REQUIRE_MESSAGE(judged.status == 0, judged.err);
    return json::parse(content_of(path() / "e.json"));
  }

  fs::path folder;
};

// Height and width of a mask, and the values that it stores.
struct Stored {
  std::array<int, 2> sides{};
  std::set<int> values{};
};

Stored stored(const fs::path& file) {
  const std::string bytes = content_of(file);
  headrace::ImageDecoder& decoder = headrace::ImageDecoder::this_thread();
  const headrace::ImageHeader header =
      decoder.open({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  const int height = header.shown_height();
  const int width = header.shown_width();
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(height * width));
  decoder.decode_labels({0, 0, double(width), double(height), {.width = width, .height = height}},
                        {.labels = labels.data(), .height = height, .width = width});
  return {.sides = {height, width}, .values = {labels.begin(), labels.end()}};
}

}  // namespace

TEST_CASE("predicted masks have their pictures' sizes and are masks of the same configuration") {
  const Trained job("");
  const fs::path pictures = job.path() / "new";
  fs::create_directories(pictures / "a");
  fs::copy(job.path() / "data/images/3.png", pictures / "a/3.png");
  const headrace::test::Bytes wide = headrace::test::encode_jpeg(
      {.width = 100, .height = 60}, headrace::test::picture(100, 60, 3));
  headrace::test::write_bytes(pictures / "wide.jpg", wide);
  headrace::test::write_bytes(pictures / "b/turned.jpg", headrace::test::with_orientation(wide, 6));
  const Finished predicted = job.predict("new", {"--output", "masks"});
  REQUIRE_MESSAGE(predicted.status == 0, predicted.err);
  CHECK(contains(predicted.err, "3 samples, 2 of 2 votes, masks in masks"));
  const std::set<int> known{0, 255};
  for (const auto& [name, sides] : std::vector<std::pair<const char*, std::array<int, 2>>>{
           {"a/3.png", {32, 32}}, {"wide.png", {60, 100}}, {"b/turned.png", {100, 60}}}) {
    CAPTURE(name);
    const Stored mask = stored(job.path() / "masks" / name);
    CHECK((mask.sides == sides));
    for (const int value : mask.values)
      CHECK(known.contains(value));
  }
  CHECK((stored(job.path() / "masks/a/3.png").values == known));  // something was learnt

  // What is predicted of the test's pictures is, read as masks, what the vote says of them.
  REQUIRE(job.predict("data/images", {"--output", "again/masks"}).status == 0);
  fs::copy(job.path() / "data/images", job.path() / "again/images");
  CHECK(job.evaluate("again").at("vote").at("pixel_accuracy").get<double>() == 1.0);
  CHECK(job.evaluate("data").at("vote").at("pixel_accuracy").get<double>() < 1.0);
}

TEST_CASE("folds are judged each and together, by counts, with sheets of their worst") {
  const Trained job("loss: [bce, dice]\npredict: {threshold: fitted, tta: [flip]}\n");
  const json result = json::parse(content_of(job.folder / "result.json"));
  CHECK(result.at("vote").at("test").contains("dice_square"));
  CHECK_FALSE(fs::exists(job.folder / "checkpoints/fold-0/test-scores.safetensors"));
  CHECK(content_of(job.folder / "worst.png").starts_with("\x89PNG"));
  CHECK(contains(content_of(job.folder / "results.csv"), "\nall together,mean_dice,"));

  const json all = job.evaluate("data");
  REQUIRE(all.at("members").size() == 2);
  double sum = 0.0;
  for (const json& member : all.at("members"))
    sum += member.at("figures").at("threshold_square").get<double>();
  CHECK(all.at("vote").at("threshold_square").get<double>() == doctest::Approx(sum / 2.0));
  CHECK(content_of(job.path() / "w.png").starts_with("\x89PNG"));

  const Finished one = job.run({"predict", "--checkpoint",
                                (job.folder / "checkpoints/fold-1/best.safetensors").string(),
                                "--data", "data/images/7.png", "--output", "one"});
  REQUIRE_MESSAGE(one.status == 0, one.err);
  CHECK((stored(job.path() / "one/7.png").sides == std::array{32, 32}));
  fs::copy(job.path() / "data/images/7.png", job.path() / "7.png");
  CHECK(job.predict("7.png", {"--output", "below"}).status == 0);
  CHECK(fs::exists(job.path() / "below/7.png"));
}

TEST_CASE("a picture that cannot be read costs its own mask alone, also one of before") {
  const Trained job("");
  for (const char* name : {"a.png", "b.png", "c.png"}) {
    fs::create_directories(job.path() / "some");
    fs::copy(job.path() / "data/images/7.png", job.path() / "some" / name);
  }
  REQUIRE(job.predict("some", {"--output", "out"}).status == 0);
  const std::string mask = content_of(job.path() / "out/c.png");
  fs::resize_file(job.path() / "some/b.png", 90);
  const Finished finished = job.predict("some", {"--output", "out", "--overwrite"});
  CHECK(finished.status == 3);
  for (const char* said : {"b.png): ", "predict: 2 samples",
                           "predict: 1 of 3 records could not be read, the first b.png"})
    CHECK_MESSAGE(contains(finished.err, said), finished.err);
  CHECK_FALSE(fs::exists(job.path() / "out/b.png"));
  fs::create_directories(job.path() / "out/b.png/kept");
  const Finished folder = job.predict("some", {"--output", "out", "--overwrite"});
  CHECK(folder.status == 4);
  CHECK_MESSAGE(contains(folder.err, "cannot be removed (it is a folder)"), folder.err);
  fs::remove_all(job.path() / "out/b.png");
  CHECK(content_of(job.path() / "out/c.png") == mask);
  for (const char* name : {"a.png", "c.png"})
    fs::remove(job.path() / "some" / name);
  std::ofstream(job.path() / "out/b.png") << "drawn before";
  const Finished none = job.predict("some", {"--output", "out", "--overwrite"});
  CHECK(content_of(job.path() / "out/b.png") == "drawn before");
  CHECK(none.status == 3);
  CHECK_MESSAGE(contains(none.err, "got none that can be read; the first is b.png"), none.err);
}

TEST_CASE("what cannot be predicted is refused, and nothing that somebody drew is lost") {
  const Trained job("");
  const auto refused = [&](const Finished& finished, int status, const std::string& said) {
    CHECK(finished.status == status);
    CHECK_MESSAGE(contains(finished.err, said), finished.err);
  };
  const std::string drawn = content_of(job.path() / "data/masks/1.png");
  refused(job.predict("data/images", {"--output", "data/masks"}), 2, "add --overwrite");
  refused(job.predict("data/images", {"--output", "data/images/masks", "--overwrite"}), 2,
          "a folder apart from the pictures");
  refused(job.predict("data/images", {"--output", "data/images/", "--overwrite"}), 2,
          "a folder apart from the pictures");
  refused(job.predict("data/images/7.png", {"--output", "data/images", "--overwrite"}), 2,
          "a folder apart from the pictures");
  CHECK(content_of(job.path() / "data/masks/1.png") == drawn);
  refused(job.predict("data/images", {"--output", "p.csv"}), 2, "must be a folder");
  refused(job.predict("data/none", {"--output", "p"}), 2, "data/none");
  const std::string run = job.folder.string();
  refused(job.run({"evaluate", "--checkpoint", run, "--data", "data", "--worst", "w.jpg"}), 2,
          "ends in .png");

  fs::create_directories(job.path() / "twice");
  fs::copy(job.path() / "data/images/1.png", job.path() / "twice/1.png");
  headrace::test::write_bytes(
      job.path() / "twice/1.jpg",
      headrace::test::encode_jpeg({.width = 40, .height = 40}, headrace::test::picture(40, 40, 3)));
  refused(job.predict("twice", {"--output", "t"}), 3, "a second one for 1.png");
  std::ofstream(job.path() / "twice/1.jpg") << "no picture";
  fs::remove(job.path() / "twice/1.png");
  refused(job.predict("twice", {"--output", "t", "--overwrite"}), 3, "1.jpg");
}
