#include <headrace/apps/memory/measured_memory.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/json_fields.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

void fields(of_type<MeasuredPoint> auto& point, const auto& field) {
  field("rows", point.rows);
  field("evaluation_rows", point.evaluation_rows);
  field("training_bytes", point.training);
  field("evaluation_bytes", point.evaluation);
  field("beside_bytes", point.beside);
  field("kept_of_row_bytes", point.kept_of_row);
  field("step_s", point.step_s);
  field("steps", point.steps);
}

void fields(of_type<MeasuredStage> auto& stage, const auto& field) {
  field("name", stage.name);
  field("weights_bytes", stage.weights);
  field("gradients_bytes", stage.gradients);
  field("moments_bytes", stage.moments);
  field("average_bytes", stage.average);
  field("checkpoint_bytes", stage.checkpoint);
  field("points", stage.points);
  field("evaluated", stage.evaluated);
  field("exceeded_rows", stage.exceeded_rows);
  field("least_rows", stage.least_rows);
  field("ended", stage.ended);
}

void fields(of_type<MeasuredMemory> auto& memory, const auto& field) {
  field("stages", memory.stages);
  field("failed", memory.failed);
  field("of", memory.of);
}

namespace {

// Points of the same rows are one: several batches of training may share one of the evaluation.
template <class Rows, class Value>
monitor::MemoryLine line_of(const MeasuredStage& stage, Rows rows, Value value,
                            std::uint64_t base) {
  std::map<std::int64_t, std::uint64_t> most;
  for (const MeasuredPoint& point : stage.points) {
    std::uint64_t& bytes = most[point.*rows];
    bytes = std::max(bytes, point.*value);
  }
  std::vector<monitor::MemoryPoint> points;
  for (const auto& [of, bytes] : most)
    points.push_back({.rows = of, .bytes = bytes});
  return monitor::MemoryLine(points, base);
}

// Bytes and counts have no sign; a count that is too large is the largest.
struct Counts : PlainValues {
  using PlainValues::read;
  static void read(const nlohmann::json& json, std::uint64_t& bytes) {
    bytes = json.get_ref<const nlohmann::json::number_unsigned_t&>();
  }
  static void read(const nlohmann::json& json, std::int64_t& count) {
    constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    count = static_cast<std::int64_t>(
        std::min(json.get_ref<const nlohmann::json::number_unsigned_t&>(), most));
  }
};

}  // namespace

monitor::MemoryLine MeasuredStage::training() const {
  return line_of(*this, &MeasuredPoint::rows, &MeasuredPoint::training, state());
}

monitor::MemoryLine MeasuredStage::evaluation() const {
  return line_of(*this, &MeasuredPoint::evaluation_rows, &MeasuredPoint::evaluation, state());
}

std::uint64_t MeasuredStage::tensors(std::int64_t rows, std::int64_t evaluation_rows) const {
  if (points.empty()) return state();
  const std::uint64_t of_steps = std::max(state(), training().at(rows));
  if (evaluation_rows == 0 || points.front().evaluation_rows == 0) return of_steps;
  // Figures put their rows together at the end, and choose by number those that are no padding.
  constexpr std::uint64_t copies = 4;
  return std::max({of_steps, evaluation().at(evaluation_rows) + kept(), state() + copies * kept()});
}

std::uint64_t MeasuredStage::kept() const {
  return points.empty() ? 0 : points.front().kept_of_row * static_cast<std::uint64_t>(evaluated);
}

std::uint64_t MeasuredStage::beside() const {
  const auto largest = std::ranges::max_element(points, {}, &MeasuredPoint::rows);
  return largest == points.end() ? 0 : largest->beside;
}

std::string to_json(const MeasuredMemory& memory) {
  return write_fields<nlohmann::json>(memory).dump(2) + '\n';
}

MeasuredMemory parse_measured_memory(std::string_view text) {
  MeasuredMemory memory;
  try {
    read_fields<Counts>(nlohmann::json::parse(text), memory);
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("[memory] what was measured must be JSON as written, got ") +
                      error.what());
  }
  return memory;
}

std::vector<std::int64_t> rows_to_measure(std::int64_t batch) {
  constexpr std::int64_t small = 8;
  if (batch < small) return {batch, batch + 1, batch + 2};
  return {batch, batch / 2, batch / 4};
}

}  // namespace headrace::inline v1::app
