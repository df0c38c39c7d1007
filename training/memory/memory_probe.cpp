#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/training/memory/detail/probe_course.h>
#include <headrace/training/memory/memory_probe.h>
#include <headrace/training/memory/tensor_memory.h>
#include <headrace/training/stage/stage_checks.h>
#include <headrace/training/trainer/trainer.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <ATen/Context.h>
#include <c10/util/Exception.h>

namespace headrace::inline v1::training {

namespace {

constexpr std::int64_t most_micro_batches = 2;
constexpr std::int64_t evaluation_batches = 2;

std::uint64_t less(std::uint64_t all, std::uint64_t part) {
  return all - std::min(all, part);
}

// Placeholders are no numbers to learn from: nothing that they lead to ends the probe.
Stage probed(Stage stage, std::int64_t rows, std::int64_t evaluation_rows) {
  stage.batch = rows;
  stage.evaluation_batch = evaluation_rows;
  stage.accumulation = std::min(stage.accumulation, most_micro_batches);
  stage.early_stopping.reset();
  stage.non_finite = SkipStep{.in_a_row = std::numeric_limits<int>::max()};
  return stage;
}

std::uint64_t of_row(const detail::KeptOfBatches& kept, std::int64_t rows) {
  const auto all = static_cast<std::uint64_t>(kept.batches * rows);
  return all == 0 ? 0 : kept.bytes / all;
}

}  // namespace

class StageProbe::Impl {
 public:
  Impl(const Course& course, const Stage& stage, ProbeOptions options)
      : course_(course),
        stage_(stage),
        options_(std::move(options)),
        tensors_before_(tensor_memory(options_.device).allocated),
        before_(options_.before.value_or(held_beside_tensors())) {
    at::manual_seed(options_.seed);
    network_ = course.network();
    network_->move_to(options_.device, stage.channels_last);
  }

  ProbePoint measure(std::int64_t rows, std::int64_t evaluation_rows, StateBytes& state) {
    release_unused_memory(options_.device);
    const Stage stage = probed(stage_, rows, evaluation_rows);
    const detail::ProbeCourse course(course_, stage, options_.device);
    network_->freeze_norms(stage.frozen_norms);
    network_->checkpoint(stage.checkpointed);
    set_device_modes({.precision = stage.precision,
                      .cudnn_benchmark = stage.cudnn_benchmark,
                      .deterministic = stage.deterministic});
    Loader train = training_loader(stage);
    std::optional<Loader> validation = evaluation_loader(evaluation_rows);
    Optimizer optimizer(parameter_groups(stage, network_->parameters()), stage.optimizer);
    ProbePoint point{.rows = rows,
                     .evaluation_rows = validation ? evaluation_rows : 0,
                     .step_s = std::numeric_limits<double>::infinity()};
    Trainer trainer({.course = course,
                     .stage = stage,
                     .network = *network_,
                     .optimizer = optimizer,
                     .train = train,
                     .validation = validation ? &*validation : nullptr},
                    {.device = options_.device,
                     .seed = options_.seed,
                     .stage = stage.number,
                     .trial_steps = options_.steps},
                    callbacks(point, validation.has_value()));
    monitor::reset_peak_resident();
    reset_peak_tensor_memory(options_.device);
    most_reserved_ = 0;
    most_data_ = 0;
    most_of_files_ = 0;
    timed_ = 0;
    look();
    run_whole(trainer);
    point.step_s /= static_cast<double>(stage.accumulation);
    std::size_t of_loaders = train.forecast().total();
    if (validation) of_loaders += validation->forecast().total();
    see_beside(point, of_loaders);
    point.kept_of_row = of_row(course.kept(), evaluation_rows);
    state = state_bytes(*network_, optimizer, trainer.average());
    return point;
  }

  std::int64_t least_rows() const {
    return !has_batch_norms(*network_) || stage_.frozen_norms ? 1 : 2;
  }

 private:
  Loader training_loader(const Stage& stage) const {
    return course_.train(stage_, {.batch = stage_.batch, .device = options_.deliver_to})
        .with_placeholders(stage.batch, options_.steps * stage.accumulation * stage.batch)
        .build(options_.loaders);
  }

  std::optional<Loader> evaluation_loader(std::int64_t rows) const {
    const std::optional<Split> split = evaluated_split(course_);
    if (!split) return std::nullopt;
    return course_.evaluation(*split, {.batch = rows, .device = options_.deliver_to})
        .with_placeholders(rows, evaluation_batches * rows)
        .build(options_.loaders);
  }

  static void run_whole(Trainer& trainer) {
    try {
      trainer.run();
    } catch (const ResourceError& error) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    }
  }

  TrainerCallbacks callbacks(ProbePoint& point, bool validates) {
    return {.on_step = [this, &point](const StepReport& step) { see_time(point, step.times); },
            .on_train_epoch_end = [this, &point] { see(point.training); },
            .on_epoch =
                [this, &point, validates](const EpochReport&) {
                  if (validates) see(point.evaluation);
                },
            .on_warning = give_up};
  }

  // A run that gives way to a lack of memory has shown that the size is too large. It would go on
  // to its end with smaller batches, which takes long and shows nothing more.
  static void give_up(const std::string& warning) {
    if (warning.starts_with("[memory]")) throw ResourceError(warning);
  }

  // Steps of a GPU are queued, and those of a CPU differ: the mean behind the first is what a run
  // has.
  void see_time(ProbePoint& point, const StepTimes& times) {
    ++point.steps;
    look();
    const double step_s = times.compute_s + times.copy_s;
    if (timed_++ == 0) {
      steps_s_ = 0.0;
      point.step_s = step_s;
      return;
    }
    steps_s_ += step_s;
    point.step_s = steps_s_ / static_cast<double>(timed_ - 1);
  }

  // The peak since the look before.
  void see(std::uint64_t& most) {
    const TensorMemory memory = tensor_memory(options_.device);
    most = std::max(most, less(memory.peak, tensors_before_));
    most_reserved_ = std::max(most_reserved_, memory.peak_reserved);
    reset_peak_tensor_memory(options_.device);
    look();
  }

  // Free parts of the heap are address space, too, which nothing but a look shows; and the kernel
  // takes pages of files when others want memory, which were in the peak all the same.
  void look() {
    most_of_files_ = std::max(most_of_files_, monitor::read_process_memory().file_backed);
    if (monitor::data_limit()) most_data_ = std::max(most_data_, held_beside_tensors().data);
  }

  void see_beside(ProbePoint& point, std::uint64_t of_loaders) {
    look();
    const std::uint64_t most = std::max(point.training, point.evaluation);
    if (!options_.device.is_cpu()) {
      point.beside = less(most_reserved_, most + tensors_before_);
      return;
    }
    if (monitor::data_limit()) {
      point.beside = less(most_data_, before_.data + of_loaders);
      return;
    }
    const std::uint64_t held = less(monitor::read_process_memory().peak_resident, most_of_files_);
    point.beside = less(held, before_.resident + most + of_loaders);
  }

  const Course& course_;
  const Stage& stage_;
  ProbeOptions options_;
  std::uint64_t tensors_before_;
  HeldBesideTensors before_;
  std::uint64_t most_data_ = 0;      // beside tensors
  std::uint64_t most_of_files_ = 0;  // pages of files
  std::uint64_t most_reserved_ = 0;
  std::int64_t timed_ = 0;  // steps of a run
  double steps_s_ = 0.0;    // of those behind the first
  std::unique_ptr<models::Network> network_;
};

std::optional<Split> evaluated_split(const Course& course) {
  for (const Split split : {Split::validation, Split::test})
    if (course.evaluates(split)) return split;
  return std::nullopt;
}

HeldBesideTensors held_beside_tensors() {
  const monitor::ProcessMemory memory = monitor::read_process_memory();
  const std::uint64_t tensors = tensor_memory(at::kCPU).allocated;
  return {.resident = less(memory.held(), tensors),
          .data = less(memory.data_segment, tensors + monitor::stack_bytes_of_threads())};
}

StageProbe::StageProbe(const Course& course, const Stage& stage, ProbeOptions options)
    : impl_(std::make_unique<Impl>(course, stage, std::move(options))) {}

StageProbe::~StageProbe() = default;

ProbePoint StageProbe::measure(std::int64_t rows, std::int64_t evaluation_rows) {
  return impl_->measure(rows, evaluation_rows, state_);
}

std::int64_t StageProbe::least_rows() const {
  return impl_->least_rows();
}

}  // namespace headrace::inline v1::training
