// What LibTorch counts at the ends of a run's phases.
#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/backend/phase_meter_torch.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/support/torch_doctest.h>
#include <headrace/training/memory/tensor_memory.h>

#include <optional>
#include <stdlib.h>
#include <string>

#include <ATen/ops/empty.h>

namespace headrace {

namespace {

constexpr std::int64_t mib = 1 << 20;

at::Tensor tensor(std::int64_t bytes) {
  return at::empty({bytes}, at::kByte);
}

app::TrainingJob job(const std::string& memory) {
  return app::read_training_text(
      app::jobs(), "kind: glaucoma\ndata: {file: none.h5}\nmemory: " + memory + "\n", "here");
}

std::optional<std::string> variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// A variable of the environment is again at the end what it was.
class Kept {
 public:
  explicit Kept(const char* name) : name_(name), value_(variable(name)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { value_ ? ::setenv(name_, value_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> value_;
};

}  // namespace

TEST_CASE("a phase has its own peak, and the run keeps the largest of all") {
  training::count_tensor_memory();
  app::PhaseMeter meter(job("{limit: 3GiB}"), Device{});
  CHECK(meter.limits().process == 3072 * mib);
  CHECK(meter.limits().gpu == 0);
  { const at::Tensor before = tensor(64 * mib); }
  meter.begin();
  const at::Tensor kept = tensor(8 * mib);
  { const at::Tensor gone = tensor(16 * mib); }
  const monitor::PhaseMemory first = meter.end();
  CHECK(first.peak - first.allocated >= 16 * mib);
  CHECK(first.peak - first.allocated < 17 * mib);
  CHECK(first.process.held() > first.allocated);
  CHECK_FALSE(first.on_gpu);
  { const at::Tensor small = tensor(mib); }
  const monitor::PhaseMemory second = meter.end();
  CHECK(second.allocated == first.allocated);
  CHECK(second.peak - second.allocated < 2 * mib);
  CHECK(meter.most_reserved() >= second.allocated + 56 * mib);
}

TEST_CASE("whoever looks for a GPU has said before what its allocator is to do") {
  constexpr const char* name = "PYTORCH_CUDA_ALLOC_CONF";
  const Kept kept(name);
  const Kept any("PYTORCH_ALLOC_CONF");
  ::unsetenv(name);
  ::unsetenv("PYTORCH_ALLOC_CONF");
  app::choose_device(app::DeviceChoice::cpu);
  CHECK_FALSE(variable(name).has_value());
  app::choose_device(app::DeviceChoice::automatic);
  CHECK(variable(name) == "expandable_segments:True");
  ::setenv(name, "max_split_size_mb:64", 1);
  app::choose_device(app::DeviceChoice::automatic);
  CHECK(variable(name) == "max_split_size_mb:64");
}

}  // namespace headrace
