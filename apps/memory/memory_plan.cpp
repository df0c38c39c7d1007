#include <headrace/apps/memory/memory_plan.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::MemoryForecast;
using monitor::MemoryLimit;

bool ran_out(const MeasuredStage& measured, std::int64_t rows) {
  return measured.exceeded_rows > 0 && rows >= measured.exceeded_rows;
}

std::uint64_t with_instead(std::uint64_t total, std::uint64_t of, std::uint64_t instead) {
  return total - std::min(total, of) + instead;
}

// "out of memory with 2 rows": what was said of it then stands below the table.
std::string first_words(const std::string& ended) {
  return ended.substr(0, ended.find(": "));
}

// Divisors of n, largest first.
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = n; d >= 1; --d)
    if (n % d == 0) all.push_back(d);
  return all;
}

// The largest batch of the evaluation that fits beside micro-batches of so many rows.
std::optional<StageChange> change_with(const MemoryPlan& plan, const PlannedStage& stage,
                                       const MeasuredStage& measured, std::int64_t rows) {
  if (ran_out(measured, rows)) return std::nullopt;
  for (std::int64_t of = stage.evaluation_batch; of >= 0; of = of > 1 ? of / 2 : -1) {
    if (!fits(plan, total_with(plan, stage, measured, rows, of))) continue;
    StageChange change;
    if (rows != stage.batch) {
      change.batch = rows;
      change.accumulation = stage.accumulation * (stage.batch / rows);
    }
    if (of != stage.evaluation_batch) change.evaluation_batch = of;
    return change;
  }
  return std::nullopt;
}

}  // namespace

monitor::MemoryLimit host_limit(const std::optional<Bytes>& configured) {
  return monitor::tightest_memory_limit(configured ? std::optional(configured->value)
                                                   : std::nullopt);
}

std::uint64_t bytes_of_tensors(const PlannedStage& stage) {
  return stage.measured.tensors(stage.batch, stage.evaluation_batch) + stage.measured.beside();
}

std::uint64_t room_for_tensors(const MemoryPlan& plan) {
  std::uint64_t least = UINT64_MAX;
  for (const PlannedStage& stage : plan.stages) {
    const bool on_gpu = plan.device_limit.has_value();
    const MemoryForecast& forecast = on_gpu ? stage.device : stage.host;
    const std::uint64_t limit = on_gpu ? plan.device_limit->bytes : plan.host_limit.bytes;
    const std::uint64_t total = forecast.total();
    // Loaders may have a smaller batch, too.
    const auto of_batches = on_gpu ? stage.batch_bytes.device + stage.evaluation_bytes.device
                                   : stage.batch_bytes.host + stage.evaluation_bytes.host;
    const std::uint64_t beside = total - std::min(total, bytes_of_tensors(stage) + of_batches);
    least = std::min(least, limit - std::min(limit, beside));
  }
  return std::max<std::uint64_t>(least, 1);
}

SplitBytes total_with(const MemoryPlan& plan, const PlannedStage& stage,
                      const MeasuredStage& measured, std::int64_t rows,
                      std::int64_t evaluation_rows) {
  const std::uint64_t now = bytes_of_tensors(stage);
  const std::uint64_t then = measured.tensors(rows, evaluation_rows) + measured.beside();
  SplitBytes total{.host = stage.host.total(), .device = stage.device.total()};
  const auto scale = [&total](SplitBytes bytes, std::int64_t then_rows, std::int64_t now_rows) {
    const double share = static_cast<double>(then_rows) / static_cast<double>(now_rows);
    const auto scaled = [share](std::uint64_t of) {
      return static_cast<std::uint64_t>(share * static_cast<double>(of));
    };
    total.host = with_instead(total.host, bytes.host, scaled(bytes.host));
    total.device = with_instead(total.device, bytes.device, scaled(bytes.device));
  };
  scale(stage.batch_bytes, rows, stage.batch);
  if (stage.evaluation_batch > 0)
    scale(stage.evaluation_bytes, evaluation_rows, stage.evaluation_batch);
  total.host = with_instead(total.host, stage.measured.checkpoint, measured.checkpoint);
  std::uint64_t& computes = plan.device_limit ? total.device : total.host;
  computes = with_instead(computes, now, then);
  return total;
}

bool fits(const MemoryPlan& plan, const SplitBytes& total) {
  return total.host <= plan.host_limit.bytes &&
         (!plan.device_limit || total.device <= plan.device_limit->bytes);
}

std::int64_t evaluation_rows(const PlannedStage& stage, std::int64_t rows) {
  if (stage.evaluation_batch == 0) return 0;
  const double share = static_cast<double>(rows) / static_cast<double>(stage.batch);
  return std::max<std::int64_t>(std::llround(share * static_cast<double>(stage.evaluation_batch)),
                                1);
}

std::int64_t least_rows(const PlannedStage& stage) {
  std::int64_t least = stage.batch;
  for (const std::int64_t rows : divisors(stage.batch))
    if (rows >= stage.measured.least_rows) least = rows;
  return least;
}

bool fits(const MemoryPlan& plan, const PlannedStage& stage) {
  return !ran_out(stage.measured, stage.batch) &&
         fits(plan, {.host = stage.host.total(), .device = stage.device.total()});
}

std::optional<StageChange> change_to_fit(const MemoryPlan& plan, const PlannedStage& stage) {
  if (fits(plan, stage)) return StageChange{};
  if (stage.measured.points.empty()) return std::nullopt;
  return change_to_fit(plan, stage, stage.measured);
}

std::optional<StageChange> change_to_fit(const MemoryPlan& plan, const PlannedStage& stage,
                                         const MeasuredStage& measured) {
  for (const std::int64_t rows : divisors(stage.batch)) {
    if (rows < measured.least_rows && rows < stage.batch) break;
    // The evaluation goes first: it changes nothing of what is learnt.
    if (auto change = change_with(plan, stage, measured, rows)) return change;
  }
  return std::nullopt;
}

std::optional<StageChange> evaluation_to_fit(const MemoryPlan& plan, const PlannedStage& stage) {
  if (stage.measured.points.empty()) return std::nullopt;
  return change_with(plan, stage, stage.measured, stage.batch);
}

std::string to_text(const MemoryPlan& plan, const PlannedStage& stage, const StageChange& change) {
  const bool alone = !plan.stages_are_listed;
  const char* section = alone ? "training." : "";
  std::string text;
  if (change.batch > 0)
    text = fmt::format("{0}batch={1}, {0}accumulation={2} (the same effective batch)", section,
                       change.batch, change.accumulation);
  if (change.evaluation_batch > 0)
    text += fmt::format("{}{}evaluation_batch={}", text.empty() ? "" : ", ", section,
                        change.evaluation_batch);
  return alone ? text : text + " of stage " + stage.name;
}

const PlannedStage& MemoryPlan::largest() const {
  return *std::ranges::max_element(stages, {},
                                   [](const PlannedStage& stage) { return stage.host.total(); });
}

std::string MemoryPlan::line() const {
  const PlannedStage& stage = largest();
  std::string text = stage.host.line(host_limit);
  if (device_limit) text += "; GPU " + stage.device.line(*device_limit);
  if (stages.size() > 1) text += fmt::format(" (stage {}, the largest)", stage.name);
  return text;
}

const PlannedStage* MemoryPlan::too_large() const {
  for (const PlannedStage& stage : stages)
    if (!app::fits(*this, stage)) return &stage;
  return nullptr;
}

void MemoryPlan::require(const std::string& way_out) const {
  const PlannedStage* stage = too_large();
  if (stage == nullptr) return;
  const bool of_host = !device_limit || !stage->host.fits(host_limit.bytes);
  const MemoryLimit& limit = of_host ? host_limit : *device_limit;
  const std::uint64_t total = (of_host ? stage->host : stage->device).total();
  const std::string got =
      total > limit.bytes
          ? fmt::format("{}, {} too much", format_bytes(total), format_bytes(total - limit.bytes))
          : "no memory for a step: " + first_words(stage->measured.ended);
  throw ResourceError(
      fmt::format("[memory] stage {} must fit the limit of {}{} ({}), got {}; {}\n{}", stage->name,
                  of_host ? "" : "the GPU's memory, ", format_bytes(limit.bytes), limit.source, got,
                  way_out, table()));
}

}  // namespace headrace::inline v1::app
