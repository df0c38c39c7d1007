#include <headrace/apps/figures/no_value.h>
#include <headrace/apps/report/step_history.h>

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_phases = 1000;
constexpr std::size_t most_epochs = 200'000;
constexpr std::array curve_names{"loss", "gradient_norm", "learning_rate", "samples_per_s"};

class StepReader {
 public:
  void take(const nlohmann::json& row) {
    if (row.contains("phase")) {
      phase(row);
    } else if (row.contains("samples_per_s")) {
      steps(row);
    }
  }

  StepHistory history(LineCount count) {
    for (const auto& [key, pace] : paces_)
      if (pace.seconds > 0.0) history_.rates[key] = pace.steps / pace.seconds;
    history_.count = count;
    return std::move(history_);
  }

 private:
  // Of a member: where its stage begins along the axis.
  struct Place {
    std::string stage{};
    double offset = 0.0;
    double last = 0.0;  // step of the stage
  };
  // Steps of an epoch and their seconds, as multiples of the samples of a step.
  struct Pace {
    double steps = 0.0;
    double seconds = 0.0;
  };

  void phase(const nlohmann::json& row) {
    if (history_.phases.size() >= most_phases) return;
    history_.phases.push_back({.member = static_cast<std::int64_t>(number_in(row, "member", 0.0)),
                               .stage = text_in(row, "stage"),
                               .phase = text_in(row, "phase"),
                               .tensors_peak = number_in(row, "tensors_peak_bytes", no_value),
                               .reserved_peak = number_in(row, "reserved_peak_bytes", no_value),
                               .process = number_in(row, "process_bytes", no_value)});
  }

  void steps(const nlohmann::json& row) {
    const auto member = static_cast<std::int64_t>(number_in(row, "member", 0.0));
    const double step = number_in(row, "step", no_value);
    if (!std::isfinite(step)) return;
    const std::string stage = text_in(row, "stage");
    Place& place = places_[member];
    if (place.stage != stage) place = {.stage = stage, .offset = place.offset + place.last};
    const double rate = number_in(row, "samples_per_s", no_value);
    const EpochKey key{member, stage, static_cast<std::int64_t>(number_in(row, "epoch", 0.0))};
    if (step > place.last && rate > 0.0 && (paces_.size() < most_epochs || paces_.contains(key))) {
      Pace& pace = paces_[key];
      pace.steps += step - place.last;
      pace.seconds += (step - place.last) / rate;
    }
    place.last = step;
    for (const char* name : curve_names) {
      auto& curves = history_.curves[name];
      if (curves.size() >= StepHistory::most_members && !curves.contains(member)) continue;
      curves[member].add(place.offset + step, number_in(row, name, no_value));
    }
  }

  StepHistory history_;
  std::map<std::int64_t, Place> places_;
  std::map<EpochKey, Pace> paces_;
};

}  // namespace

StepHistory read_steps(const std::filesystem::path& file) {
  StepReader reader;
  const LineCount count =
      for_each_object(file, [&reader](const nlohmann::json& row) { reader.take(row); });
  return reader.history(count);
}

}  // namespace headrace::inline v1::app
