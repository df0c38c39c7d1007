// The steps of hidden_waits_test.cpp on a GPU, under LibTorch's synchronisation debug mode.
#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/tests/apps/job_steps.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_doctest.h>
#include <headrace/tests/support/torch_gpu.h>
#include <headrace/tests/training/changed_course.h>

#include <memory>
#include <string>
#include <utility>

#include <ATen/Functions.h>

namespace headrace {
using namespace test;
using training::Precision;

namespace {

// What waited, or nothing. The first run makes what is made once: handles, plans, moments.
std::string first_wait(JobStep& job, const StepVariant& variant, const app::ChosenDevice& device) {
  run_steps(job, variant, device.device, {});
  const WaitsThrow waits_throw;
  std::int64_t told = 0;
  std::int64_t read = 0;
  try {
    run_steps(job, variant, device.device, [&](const training::StepReport& report) {
      ++told;
      CHECK(report.step == told);
      if (report.loss) ++read;
    });
  } catch (const std::exception& error) {
    return error.what();
  }
  CHECK(read == told / job.options.read_loss_every);
  return {};
}

JobStep on_device(JobStep job) {
  job.network->move_to(job.options.device, true);
  job.options.read_loss_every = 2;
  return job;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("no step of a job waits for the GPU, and its losses arrive all the same") {
    const app::ChosenDevice device = app::choose_device(app::DeviceChoice::automatic);
    if (!device.device.is_cuda()) return skip("needs a GPU");
    REQUIRE(sync_debug_mode() != nullptr);
    const c10::Device on = app::torch_device(device.device);
    for (const JobStepMaker& maker : job_steps()) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        for (const std::int64_t accumulation : {1, 3}) {
          for (const bool padded : {false, true}) {
            JobStep job = on_device(maker.make(on));
            CAPTURE(maker.name);
            CAPTURE(accumulation);
            CAPTURE(padded);
            CHECK(first_wait(job, {precision, accumulation, padded}, device) == "");
          }
        }
      }
    }
  }

  TEST_CASE("a planted wait for the GPU is found") {
    const app::ChosenDevice device = app::choose_device(app::DeviceChoice::automatic);
    if (!device.device.is_cuda()) return skip("needs a GPU");
    REQUIRE(sync_debug_mode() != nullptr);
    JobStep job = on_device(job_steps().front().make(app::torch_device(device.device)));
    job.course = std::make_shared<ChangedCourse>(
        job.course, CourseChanges{.loss = [](const at::Tensor& value, auto&, auto&) {
          return value * (value.item<float>() > 0 ? 1.0 : 2.0);
        }});
    const std::string wait = first_wait(job, {}, device);
    CHECK_MESSAGE(wait.find("synchronizing") != std::string::npos, wait);
  }
}

}  // namespace headrace
