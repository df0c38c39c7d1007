// What the stages of a run take in memory: measured, counted, and put together.
#include <headrace/apps/backend/recipe_run_torch.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/memory/memory_owners.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/training/memory/memory_probe.h>
#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/memory/tensor_memory.h>
#include <headrace/training/stage/stage_checks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// Of what a GPU has free: other processes, and the driver's own.
constexpr double usable_share = 0.95;

// Throws what is wrong with a fresh network of the course.
std::unique_ptr<models::Network> tried_network(const JobConfig& config,
                                               const training::Course& course, at::Device device) {
  check_plateaus(config, course);
  const std::vector<training::Stage> stages = course.stages();
  std::unique_ptr<models::Network> network = course.network();
  network->move_to(device, stages.front().channels_last);
  training::check_stages(course, stages, *network);
  course.try_network(*network, device);
  return network;
}

// Without a measurement: what is trained from the stage's start on.
MeasuredStage counted(const training::Stage& stage, const models::Network& network) {
  const training::Optimizer optimizer(training::parameter_groups(stage, network.parameters()),
                                      stage.optimizer);
  const training::StateBytes state = training::state_bytes(network, optimizer, nullptr);
  const std::uint64_t average = stage.ema > 0.0 ? state.weights : 0;
  return {.name = stage.name,
          .weights = state.weights,
          .gradients = state.gradients,
          .moments = state.moments,
          .average = average,
          .checkpoint = state.checkpoint + average};
}

std::int64_t scaled(std::int64_t rows, std::int64_t of, std::int64_t to) {
  return std::max<std::int64_t>(
      std::llround(static_cast<double>(rows) * static_cast<double>(to) / static_cast<double>(of)),
      1);
}

MeasuredPoint point_of(const training::ProbePoint& point) {
  return {.rows = point.rows,
          .evaluation_rows = point.evaluation_rows,
          .training = point.training,
          .evaluation = point.evaluation,
          .beside = point.beside,
          .kept_of_row = point.kept_of_row,
          .step_s = point.step_s,
          .steps = point.steps};
}

// One stage at several batch sizes.
class StageMeasurement {
 public:
  StageMeasurement(const training::Course& course, const training::Stage& stage,
                   training::ProbeOptions options, std::uint64_t limit)
      : stage_(stage), limit_(limit), probe_(course, stage, std::move(options)) {
    found_.name = stage.name;
    found_.least_rows = probe_.least_rows();
  }

  MeasuredStage run(const std::vector<std::int64_t>& asked) {
    std::int64_t least = stage_.batch;
    for (const std::int64_t rows : asked.empty() ? rows_to_measure(stage_.batch) : asked) {
      try_rows(rows);
      least = std::min(least, rows);
    }
    // Two points, so that it is known what would fit.
    while (asked.empty() && found_.points.size() < 2 && least / 2 >= found_.least_rows)
      try_rows(least /= 2);
    if (found_.points.empty() && found_.ended.empty()) found_.ended = refused_;
    return found_;
  }

 private:
  void try_rows(std::int64_t rows) {
    const std::int64_t evaluated = scaled(rows, stage_.batch, training::evaluation_batch(stage_));
    if (!expected_to_fit(rows, evaluated)) return;
    try {
      add(probe_.measure(rows, evaluated));
    } catch (const std::exception& error) {
      if (training::is_out_of_memory(error)) {
        const std::int64_t least = found_.exceeded_rows;
        found_.exceeded_rows = least > 0 ? std::min(least, rows) : rows;
        found_.ended =
            "out of memory with " + std::to_string(rows) + " rows: " + training::first_line(error);
        return;
      }
      // A step that takes no such size; the configured one must do.
      const bool refused = dynamic_cast<const ConfigError*>(&error) != nullptr;
      if (rows == stage_.batch && !refused) throw;
      refused_ = error.what();
    }
  }

  bool expected_to_fit(std::int64_t rows, std::int64_t evaluated) {
    if (limit_ == 0 || found_.points.empty()) return true;
    const std::uint64_t expected = found_.tensors(rows, evaluated) + found_.beside();
    return expected <= limit_;
  }

  void add(const training::ProbePoint& point) {
    found_.points.push_back(point_of(point));
    const training::StateBytes& state = probe_.state();
    found_.weights = state.weights;
    found_.gradients = state.gradients;
    found_.moments = state.moments;
    found_.average = state.average;
    found_.checkpoint = state.checkpoint;
  }

  const training::Stage& stage_;
  std::uint64_t limit_;
  training::StageProbe probe_;
  MeasuredStage found_;
  std::string refused_;
};

}  // namespace

// Those of the loaders that are there at this moment; a recipe may have named its own.
void add_caches(monitor::MemoryForecast& forecast) {
  constexpr const char* name = "decoded cache";
  const auto& items = forecast.items();
  if (std::ranges::find(items, name, &monitor::ForecastItem::name) != items.end()) return;
  std::uint64_t bytes = 0;
  for (const DecodedCache& cache : caches_in_use())
    if (!cache.on_disk()) bytes += cache.stats().most;
  if (bytes > 0) forecast.add(name, bytes, "most that it may keep");
}

// What the parts of a plan have in common.
class RecipeRun::StageMemory {
 public:
  explicit StageMemory(const RecipeRun& run)
      : run_(run), course_(run.recipe_->begin(run.member(run.members().front()))) {}

  const training::Course& course() const { return *course_; }
  // Of which there is an evaluation; without a validation that of the test.
  std::optional<training::Split> evaluated() const { return training::evaluated_split(*course_); }

  Loader training_loader(const training::Stage& stage) const {
    return course_->train(stage, {.batch = stage.batch, .device = run_.device_.device})
        .build(run_.loader_options());
  }
  Loader evaluation_loader(const training::Stage& stage, training::Split split) const {
    return course_
        ->evaluation(split,
                     {.batch = training::evaluation_batch(stage), .device = run_.device_.device})
        .build(run_.loader_options());
  }

  // Of the validation and the test.
  std::int64_t most_evaluated(const training::Stage& stage) const {
    std::int64_t most = 0;
    for (const training::Split split : {training::Split::validation, training::Split::test})
      if (course_->evaluates(split))
        most = std::max(most, evaluation_loader(stage, split).samples_per_epoch());
    return most;
  }

  PlannedStage planned(const training::Stage& stage, MeasuredStage measured) const {
    PlannedStage planned{.name = stage.name,
                         .batch = stage.batch,
                         .accumulation = stage.accumulation,
                         .evaluation_batch = evaluated() ? training::evaluation_batch(stage) : 0,
                         .host = run_.held_,
                         .measured = std::move(measured)};
    const bool on_gpu = run_.device_.device.is_cuda();
    const Loader train = training_loader(stage);
    planned.records = train.samples_per_epoch();
    planned.epochs = stage.epochs;
    planned.batch_bytes = {.host = add_loader_memory(planned.host, "training", train),
                           .device = train.forecast().device_bytes};
    std::optional<Loader> evaluation;
    if (const auto split = evaluated()) {
      evaluation = evaluation_loader(stage, *split);
      planned.evaluation_bytes = {
          .host = add_loader_memory(planned.host, "evaluation", *evaluation),
          .device = evaluation->forecast().device_bytes};
    }
    add_caches(planned.host);
    if (on_gpu)
      planned.device.add("slots of loaders",
                         planned.batch_bytes.device + planned.evaluation_bytes.device);
    add_stage_memory(planned, on_gpu ? planned.device : planned.host, planned.host);
    return planned;
  }

 private:
  const RecipeRun& run_;
  std::unique_ptr<training::Course> course_;
};

std::string RecipeRun::memory_key() const {
  const StageMemory memory(*this);
  std::string key = device_.why;
  for (const training::Stage& stage : memory.course().stages()) {
    key += '\n' + to_string(memory.training_loader(stage).schema());
    if (const auto split = memory.evaluated())
      key += '\n' + to_string(memory.evaluation_loader(stage, *split).schema());
  }
  return key + "\n" + std::to_string(headrace::usable_cores());
}

MeasuredMemory RecipeRun::measure(const MeasureOptions& options) const {
  const StageMemory memory(*this);
  LoaderOptions few = loader_options();
  few.prefetch = 1;
  MeasuredMemory measured;
  const std::vector<training::Stage> stages = memory.course().stages();
  const training::HeldBesideTensors before = training::held_beside_tensors();
  for (const training::Stage& stage : stages) {
    if (!options.stage.empty() && stage.name != options.stage) continue;
    StageMeasurement measurement(memory.course(), stage,
                                 {.device = torch_device(device_.device),
                                  .deliver_to = device_.device,
                                  .loaders = few,
                                  .seed = job_.config->seed,
                                  .steps = options.steps,
                                  .before = before},
                                 options.limit);
    measured.stages.push_back(measurement.run(options.rows));
    measured.stages.back().evaluated = memory.most_evaluated(stage);
  }
  return measured;
}

MemoryPlan RecipeRun::plan(const MeasuredMemory& measured) const {
  const StageMemory memory(*this);
  const std::unique_ptr<models::Network> network =
      tried_network(*job_.config, memory.course(), torch_device(device_.device));
  MemoryPlan plan{.stages_are_listed = !job_.config->stages.empty()};
  for (const training::Stage& stage : memory.course().stages()) {
    const auto found = std::ranges::find(measured.stages, stage.name, &MeasuredStage::name);
    const bool known = found != measured.stages.end() && !found->points.empty();
    MeasuredStage taken = known ? *found : counted(stage, *network);
    if (found != measured.stages.end()) {
      taken.exceeded_rows = found->exceeded_rows;
      taken.least_rows = found->least_rows;
      taken.ended = found->ended;
    }
    plan.stages.push_back(memory.planned(stage, std::move(taken)));
    if (known || !plan.unmeasured.empty()) continue;
    plan.unmeasured = found != measured.stages.end() ? found->ended : measured.failed;
  }
  if (device_.device.is_cuda()) {
    const std::uint64_t free = headrace::detail::free_device_bytes(device_.device) +
                               training::tensor_memory(torch_device(device_.device)).reserved;
    plan.device_limit = {
        .bytes = static_cast<std::uint64_t>(usable_share * static_cast<double>(free)),
        .source = "what the card has free"};
    const auto& configured = job_.config->memory.gpu;
    if (configured && configured->value < plan.device_limit->bytes)
      plan.device_limit = {.bytes = configured->value, .source = "configuration"};
  }
  return plan;
}

std::uint64_t RecipeRun::room_now() const {
  const at::Device device = torch_device(device_.device);
  training::release_unused_memory(device);
  if (!device.is_cuda()) {
    const monitor::MemoryUse use =
        monitor::memory_use(host_limit(job_.config->memory.limit), monitor::read_process_memory());
    const auto usable =
        static_cast<std::uint64_t>(usable_share * static_cast<double>(use.limit.bytes));
    return usable - std::min(usable, use.bytes);
  }
  const auto free = static_cast<std::uint64_t>(
      usable_share * static_cast<double>(headrace::detail::free_device_bytes(device_.device)));
  const auto& configured = job_.config->memory.gpu;
  if (!configured) return free;
  const std::uint64_t taken = training::tensor_memory(device).reserved;
  return std::min(free, configured->value - std::min(configured->value, taken));
}

std::uint64_t RecipeRun::tensor_bytes() const {
  return training::tensor_memory(at::kCPU).allocated;
}

std::optional<monitor::AllocatorCounters> RecipeRun::allocator() const {
  if (!device_.device.is_cuda()) return std::nullopt;
  const training::TensorMemory memory = training::tensor_memory(torch_device(device_.device));
  return monitor::AllocatorCounters{.allocated = memory.allocated,
                                    .reserved = memory.reserved,
                                    .inactive_split = memory.inactive_split,
                                    .retries = memory.retries};
}

std::optional<std::uint64_t> RecipeRun::most_reserved() const {
  if (!device_.device.is_cuda()) return std::nullopt;
  return phases_.most_reserved();
}

}  // namespace headrace::inline v1::app
