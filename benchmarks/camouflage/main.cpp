// Does the trained network find the animals better than answers that have learnt nothing? Mean IoU
// over the pictures of a test set, and its lower bound by bootstrap over animals.
#include <headrace/benchmarks/camouflage/overlap.h>
#include <headrace/benchmarks/camouflage/pictures.h>
#include <headrace/benchmarks/camouflage/unlearnt.h>
#include <headrace/benchmarks/harness/options.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/bootstrap.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr double margin = 0.1;

// IoU of each picture.
struct Answer {
  std::string name{};
  std::vector<double> ious{};
};

// The animal of each picture, as a number.
class Animals {
 public:
  void add(const std::string& animal) {
    of_picture_.push_back(numbers_.try_emplace(animal, std::ssize(numbers_)).first->second);
  }
  std::size_t count() const { return numbers_.size(); }
  models::BootstrapBound bound(const std::vector<double>& values) const {
    return models::bootstrap_lower_bound(values, of_picture_);
  }

 private:
  std::map<std::string, std::int64_t> numbers_;
  std::vector<std::int64_t> of_picture_;
};

MeanObject mean_object(const MarkedPictures& training) {
  MeanObject mean;
  for (std::int64_t i = 0; i < training.size(); ++i)
    mean.add(training.read_mask(i));
  return mean;
}

double predicted_iou(const std::filesystem::path& file, const MarkedPicture& picture) {
  const ObjectMask predicted = read_prediction(file);
  if (predicted.height != picture.height || predicted.width != picture.width)
    throw DataError("[camouflage] " + file.string() + " must be of its picture's size, " +
                    std::to_string(picture.height) + " x " + std::to_string(picture.width) +
                    ", got " + std::to_string(predicted.height) + " x " +
                    std::to_string(predicted.width));
  return iou(predicted.pixels, picture.object);
}

// What was said of every picture.
struct Answers {
  Answer everything{.name = "all of the picture"};
  ThresholdAnswers constant{};
  ThresholdAnswers salient{};
  Answer otsu{.name = "saliency above Otsu's threshold of each picture"};
  Answer network{.name = "the network"};
  Animals animals{};
};

void answer(const MarkedPicture& picture, const MeanObject& mean, Answers& answers) {
  answers.everything.ious.push_back(
      iou(std::vector<std::uint8_t>(picture.object.pixels.size(), 1), picture.object));
  answers.constant.add(
      iou_at_thresholds(mean.levels(picture.height, picture.width), picture.object));
  const Levels levels = saliency(picture);
  answers.salient.add(iou_at_thresholds(levels, picture.object));
  answers.otsu.ious.push_back(iou(above_otsu(levels), picture.object));
}

// That of the best threshold, found on the pictures that it is judged by.
Answer best_of(const ThresholdAnswers& answers, const std::string& name) {
  const int threshold = answers.best_threshold();
  return {.name = name + " " + std::to_string(threshold) + " of 255, the best here",
          .ious = answers.ious(threshold)};
}

void print(const std::string& name, const models::BootstrapBound& bound) {
  std::printf("%-58s %8.4f %8.4f\n", name.c_str(), bound.mean, bound.lower);
}

bool judge(const Answer& network, const Answer& baseline, const Animals& animals) {
  std::vector<double> more = network.ious;
  for (std::size_t i = 0; i < more.size(); ++i)
    more[i] -= baseline.ious[i];
  const models::BootstrapBound difference = animals.bound(more);
  const models::BootstrapBound own = animals.bound(network.ious);
  print(network.name, own);
  print("the network less the best of these, picture by picture", difference);
  const double ahead = own.lower - mean_of(baseline.ious);
  const bool held = ahead >= margin && difference.lower >= margin;
  std::printf("the best of these: %s\n", baseline.name.c_str());
  std::printf("the network's lower bound is %.4f above its mean\n", ahead);
  std::printf("margin %.1f: %s\n", margin, held ? "yes" : "no");
  return held;
}

bool report(const Answers& answers) {
  const std::vector<Answer> baselines = {answers.everything,
                                         best_of(answers.constant, "constant mask from"),
                                         best_of(answers.salient, "saliency from"), answers.otsu};
  std::printf("%zu pictures of %zu animals\n%-58s %8s %8s\n", answers.everything.ious.size(),
              answers.animals.count(), "", "mean IoU", "95 % >=");
  for (const Answer& baseline : baselines)
    print(baseline.name, answers.animals.bound(baseline.ious));
  if (answers.network.ious.empty()) return true;
  const auto best = std::ranges::max_element(
      baselines, {}, [](const Answer& baseline) { return mean_of(baseline.ious); });
  return judge(answers.network, *best, answers.animals);
}

Answers answers_of(const Options& options) {
  const MarkedPictures test(options.text("data"));
  const MeanObject mean = mean_object(MarkedPictures(options.text("train")));
  Answers answers;
  for (std::int64_t i = 0; i < test.size(); ++i) {
    const MarkedPicture picture = test.read(i);
    answers.animals.add(animal_of(test.name(i)));
    answer(picture, mean, answers);
    if (options.is_set("predictions"))
      answers.network.ious.push_back(predicted_iou(
          std::filesystem::path(options.text("predictions")) / (test.name(i) + ".png"), picture));
  }
  return answers;
}

}  // namespace

int main(int argc, char** argv) {
  Options options(
      "camouflage_baselines",
      "Does the trained network find the animals better than answers that have learnt nothing?");
  options.add("data", "data/camouflage-128/Test", "pictures in Imgs, masks in GT_Object")
      .add("train", "data/camouflage-128/Train", "the same to take the constant mask from")
      .add("predictions", "", "folder of masks by headrace predict; none: baselines alone");
  options.parse(argc, argv);
  try {
    return report(answers_of(options)) ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "camouflage_baselines: %s\n", error.what());
    return 2;
  }
}
