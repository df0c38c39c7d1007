#include <headrace/apps/train/measured_memory.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
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
  nlohmann::json stages = nlohmann::json::array();
  for (const MeasuredStage& stage : memory.stages) {
    nlohmann::json points = nlohmann::json::array();
    for (const MeasuredPoint& point : stage.points)
      points.push_back({{"rows", point.rows},
                        {"evaluation_rows", point.evaluation_rows},
                        {"training_bytes", point.training},
                        {"evaluation_bytes", point.evaluation},
                        {"beside_bytes", point.beside},
                        {"kept_of_row_bytes", point.kept_of_row},
                        {"step_s", point.step_s},
                        {"steps", point.steps}});
    stages.push_back({{"name", stage.name},
                      {"weights_bytes", stage.weights},
                      {"gradients_bytes", stage.gradients},
                      {"moments_bytes", stage.moments},
                      {"average_bytes", stage.average},
                      {"checkpoint_bytes", stage.checkpoint},
                      {"points", std::move(points)},
                      {"evaluated", stage.evaluated},
                      {"exceeded_rows", stage.exceeded_rows},
                      {"least_rows", stage.least_rows},
                      {"ended", stage.ended}});
  }
  return nlohmann::json{{"stages", std::move(stages)}, {"failed", memory.failed}, {"of", memory.of}}
             .dump(2) +
         '\n';
}

MeasuredMemory parse_measured_memory(std::string_view text) {
  const auto bytes = [](const nlohmann::json& of, const char* name) {
    return of.at(name).get_ref<const nlohmann::json::number_unsigned_t&>();
  };
  const auto count = [&bytes](const nlohmann::json& of, const char* name) {
    constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return static_cast<std::int64_t>(std::min(bytes(of, name), most));
  };
  MeasuredMemory memory;
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
    memory.failed = document.at("failed").get<std::string>();
    memory.of = document.at("of").get<std::string>();
    for (const nlohmann::json& one : document.at("stages")) {
      MeasuredStage stage{.name = one.at("name").get<std::string>(),
                          .weights = bytes(one, "weights_bytes"),
                          .gradients = bytes(one, "gradients_bytes"),
                          .moments = bytes(one, "moments_bytes"),
                          .average = bytes(one, "average_bytes"),
                          .checkpoint = bytes(one, "checkpoint_bytes"),
                          .evaluated = count(one, "evaluated"),
                          .exceeded_rows = count(one, "exceeded_rows"),
                          .least_rows = count(one, "least_rows"),
                          .ended = one.at("ended").get<std::string>()};
      for (const nlohmann::json& point : one.at("points"))
        stage.points.push_back({.rows = count(point, "rows"),
                                .evaluation_rows = count(point, "evaluation_rows"),
                                .training = bytes(point, "training_bytes"),
                                .evaluation = bytes(point, "evaluation_bytes"),
                                .beside = bytes(point, "beside_bytes"),
                                .kept_of_row = bytes(point, "kept_of_row_bytes"),
                                .step_s = point.at("step_s").get<double>(),
                                .steps = count(point, "steps")});
      memory.stages.push_back(std::move(stage));
    }
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
