#include <headrace/benchmarks/mechanics/sections.h>
#include <headrace/benchmarks/mechanics/serve.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace headrace::inline v1::bench {

namespace {

using training::Precision;

constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::bf16,
                                    Precision::fp16};
constexpr bool layouts[] = {false, true};

/// Beyond what one run differs from the next.
constexpr Goal faster = at_least(1.05);
constexpr Goal no_slower = at_least(1.0);
constexpr Goal as_fast = at_least(0.95);

std::string of_torch(const Setting& setting) {
  return "PyTorch, " + name_of(setting);
}

/// A rate that a peer measures.
std::function<double(int)> asking(const MaybePeer& peer, const Setting& setting) {
  return [peer, setting](int steps) {
    if (peer.peer == nullptr) throw std::runtime_error(peer.missing);
    const std::string answer = peer.peer->ask(rate_request(setting, steps));
    if (answer.starts_with(no_figure))
      throw std::runtime_error(answer.substr(std::string(no_figure).size()));
    return std::atof(answer.c_str());
  };
}

/// All contenders of a workload in turn, and rows of what was seen.
class Comparison {
 public:
  explicit Comparison(const Bench& bench) : bench_(bench) {}

  /// `rate` takes the number of steps. A contender that fails at its first one is missing.
  void add(const std::string& name, const std::function<double(int)>& rate) {
    try {
      rate(1);
      contenders_.push_back({name, [rate, steps = bench_.steps] { return rate(steps); }});
    } catch (const std::exception& error) {
      const std::string what = error.what();
      missing_[name] = what.substr(0, what.find('\n'));
    }
  }

  void run() {
    for (Rates& rates : compare_measured(contenders_, bench_.repeats)) {
      const std::string name = rates.name;
      rates_.emplace(name, std::move(rates));
    }
    std::vector<Row> rows;
    for (const auto& contender : contenders_)
      rows.push_back(row("steps", rates_.at(contender.name)));
    for (const auto& [name, why] : missing_)
      rows.push_back({.section = title("steps"), .contender = name, .missing = why});
    bench_.report.add(std::move(rows));
  }

  /// One contender of ours beside another. Where either is missing ours has no figure.
  Row beside(const std::string& section, const std::string& name, const std::string& reference,
             std::optional<Goal> goal = {}) const {
    for (const std::string& each : {name, reference})
      if (!rates_.contains(each))
        return {.section = title(section),
                .contender = "headrace",
                .missing = each + ": " + missing_.at(each)};
    Row beside = row(section, rates_.at(name));
    beside.reference = reference;
    beside.ratio = beside.median / rates_.at(reference).median;
    beside.goal = goal;
    return beside;
  }

 private:
  std::string title(const std::string& section) const {
    return bench_.workload.title + ": " + section;
  }
  Row row(const std::string& section, const Rates& rates) const {
    return {.section = title(section),
            .contender = rates.name,
            .unit = bench_.workload.unit,
            .median = rates.median,
            .low = rates.low,
            .high = rates.high,
            .repeats = rates.repeats};
  }

  const Bench& bench_;
  std::vector<Measured> contenders_;
  std::map<std::string, Rates> rates_;
  std::map<std::string, std::string> missing_;
};

std::vector<Setting> plain_settings() {
  std::vector<Setting> all;
  for (const bool channels_last : layouts)
    for (const Precision precision : precisions)
      all.push_back({.precision = precision, .channels_last = channels_last});
  return all;
}

/// What training in float and at its fastest would gain by trials.
std::vector<Setting> tried_settings() {
  return {{.precision = Precision::fp32},
          {.precision = Precision::tf32},
          {.precision = Precision::bf16, .channels_last = true}};
}

void add_contenders(Comparison& comparison, const Bench& bench) {
  for (const Setting& setting : plain_settings()) {
    const auto trainee = std::make_shared<Trainee>(bench.workload, setting);
    comparison.add(name_of(setting), [trainee](int steps) { return trainee->rate(steps); });
  }
  for (Setting setting : tried_settings()) {
    setting.cudnn_benchmark = true;
    comparison.add(name_of(setting), asking(bench.tried, setting));
  }
  for (const Setting& setting : plain_settings())
    comparison.add(of_torch(setting), asking(bench.torch, setting));
}

}  // namespace

void measure_arithmetic(const Bench& bench) {
  Comparison comparison(bench);
  add_contenders(comparison, bench);
  comparison.run();
  std::vector<Row> tf32, half, layout, tried, torch;
  for (const Setting& setting : plain_settings()) {
    const std::string name = name_of(setting);
    const std::string in_float = name_of({.channels_last = setting.channels_last});
    const bool is_bf16 = setting.precision == Precision::bf16;
    if (setting.precision == Precision::tf32)
      tf32.push_back(comparison.beside("TF32 beside fp32", name, in_float, faster));
    if (is_bf16 || setting.precision == Precision::fp16)
      half.push_back(comparison.beside("half precision beside fp32", name, in_float, faster));
    if (setting.channels_last)
      layout.push_back(comparison.beside("channels-last beside contiguous", name,
                                         name_of({.precision = setting.precision}),
                                         is_bf16 ? std::optional(no_slower) : std::nullopt));
    torch.push_back(comparison.beside("beside PyTorch", name, of_torch(setting), as_fast));
  }
  for (Setting setting : tried_settings()) {
    const std::string untried = name_of(setting);
    setting.cudnn_benchmark = true;
    tried.push_back(
        comparison.beside("cudnn_benchmark beside heuristics", name_of(setting), untried));
  }
  for (const auto& section : {tf32, half, layout, tried, torch})
    bench.report.add(section);
}

}  // namespace headrace::inline v1::bench
