#include <headrace/benchmarks/mechanics/peak_bytes.h>
#include <headrace/benchmarks/mechanics/sections.h>
#include <headrace/benchmarks/mechanics/trainee.h>

#include <cmath>
#include <utility>
#include <vector>

namespace headrace::inline v1::bench {

namespace {

using training::StepOutcome;

/// What the same step from the same weights comes to, relative to the plain one's. The loss is of
/// the same kernels; gradients may sum in another order.
std::vector<Row> differences(const std::string& section, const StepOutcome& checkpointed,
                             const StepOutcome& plain) {
  const auto off = [](const at::Tensor& a, const at::Tensor& b) {
    const double expected = b.item<double>();
    return std::abs(a.item<double>() - expected) / std::abs(expected);
  };
  Row loss = figure(section, "loss", "share", {off(checkpointed.loss, plain.loss)});
  loss.goal = share_below(1e-6);
  Row norm =
      figure(section, "norm of the gradients", "share", {off(checkpointed.norm, plain.norm)});
  norm.goal = share_below(1e-3);
  return {loss, norm};
}

std::vector<double> peaks(Trainee& trainee, const Bench& bench) {
  std::vector<double> megabytes;
  for (int i = 0; i < bench.repeats; ++i)
    megabytes.push_back(1e-6 * peak_bytes(bench.workload.device, [&] { trainee.run(1); }));
  return megabytes;
}

}  // namespace

void measure_checkpointing(const Bench& bench) {
  const std::string title = bench.workload.title + ": checkpointed blocks beside plain ones, ";
  Setting setting{.precision = training::Precision::bf16, .channels_last = true};
  const std::string plain_name = name_of(setting);
  Trainee plain(bench.workload, setting);
  setting.checkpointed = true;
  const std::string name = name_of(setting);
  Trainee checkpointed(bench.workload, setting);

  const StepOutcome expected = plain.run(1);
  bench.report.add(differences(title + "difference", checkpointed.run(1), expected));
  bench.report.add(title + "time", bench.workload.unit,
                   compare_measured({{plain_name, [&] { return plain.rate(bench.steps); }},
                                     {name, [&] { return checkpointed.rate(bench.steps); }}},
                                    bench.repeats),
                   plain_name);
  std::vector<Row> memory = {figure(title + "memory", plain_name, "MB", peaks(plain, bench)),
                             figure(title + "memory", name, "MB", peaks(checkpointed, bench))};
  memory[1].reference = plain_name;
  memory[1].ratio = memory[1].median / memory[0].median;
  memory[1].goal = Goal{.value = 0.95, .at_most = true};
  bench.report.add(std::move(memory));
}

}  // namespace headrace::inline v1::bench
