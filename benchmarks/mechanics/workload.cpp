#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/benchmarks/mechanics/workload.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/resnet.h>

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

namespace headrace::inline v1::bench {

namespace {

constexpr std::int64_t picture_classes = 1000;
constexpr std::int64_t mels = 64;
constexpr std::int64_t frames = 5;

[[noreturn]] void refuse_data() {
  throw ConfigError("[mechanics_benchmark] its batch lies on the device, it reads no data");
}

class PictureCourse final : public training::Course {
 public:
  explicit PictureCourse(double width) : width_(width) {}

  std::unique_ptr<models::Network> network() const override {
    return models::make_resnet({.classes = picture_classes, .width = width_});
  }
  Pipeline train(const training::Stage&, const training::Feed&) const override { refuse_data(); }
  Pipeline evaluation(training::Split, const training::Feed&) const override { refuse_data(); }
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment&) const override {
    return {
        {.value = models::cross_entropy(output.main, training::only(example.targets, "target"))}};
  }
  std::unique_ptr<training::Metric> metric(training::Split,
                                           const training::TensorMap&) const override {
    return nullptr;
  }

 private:
  double width_;
};

training::Example example_of(const WorkloadOptions& options, std::vector<std::int64_t> sizes,
                             std::int64_t classes) {
  at::manual_seed(7);
  sizes.insert(sizes.begin(), options.batch);
  return {.inputs = {{"input", at::rand(sizes).to(options.device)}},
          .targets = {{"label", at::randint(classes, {options.batch}).to(options.device)}},
          .rows = options.batch};
}

std::unique_ptr<training::Course> leak_course(at::Device device) {
  const app::LeakFile file{.longs = 1,
                           .shorts = 1,
                           .mels = mels,
                           .frames = frames,
                           .labels = {0, 1},
                           .mean = 0.0,
                           .deviation = 1.0};
  return std::make_unique<app::LeakCourse>(app::LeakConfig(), app::LeakSplits{file, file, file},
                                           app::LeakSources(), device);
}

}  // namespace

Workload make_workload(const WorkloadOptions& options) {
  Workload workload{.title = options.network + ", batch of " + std::to_string(options.batch) +
                             ", " + (options.device.is_cuda() ? "on a GPU" : "on the CPU"),
                    .unit = {},
                    .blocks = {},
                    .course = nullptr,
                    .example = {},
                    .device = options.device};
  if (options.network == "resnet50") {
    workload.unit = "images/s";
    workload.blocks = {"layer"};
    workload.course = std::make_unique<PictureCourse>(options.width);
    workload.example = example_of(options, {3, options.side, options.side}, picture_classes);
  } else if (options.network == "leak_cnn") {
    workload.unit = "segments/s";
    workload.blocks = {"*"};
    workload.course = leak_course(options.device);
    workload.example = example_of(options, {1, mels, frames}, app::leak_classes);
  } else {
    throw ConfigError("[mechanics_benchmark] --network must be resnet50 or leak_cnn, got \"" +
                      options.network + '"');
  }
  return workload;
}

}  // namespace headrace::inline v1::bench
