#include <headrace/apps/jobs/tones/course_torch.h>
#include <headrace/engine/tensor/device.h>

namespace headrace::inline v1::app {
namespace {

class TonesRecipe final : public training::Recipe {
 public:
  explicit TonesRecipe(const TonesConfig& config) : config_(config) {}

  monitor::MemoryForecast plan() override { return {}; }  // nothing is kept in memory
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return tones_course(config_);
  }

 private:
  TonesConfig config_;
};

}  // namespace

std::unique_ptr<training::Recipe> tones_recipe(const JobConfig& config, Device) {
  return std::make_unique<TonesRecipe>(dynamic_cast<const TonesConfig&>(config));
}

}  // namespace headrace::inline v1::app
