#include <headrace/training/stage_schedule.h>

#include <array>
#include <string>

namespace headrace::inline v1::training {

namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

}  // namespace

const char* name_of(const Schedule& schedule) {
  constexpr std::array names{"constant", "cosine", "one-cycle", "polynomial", "plateau"};
  return names.at(schedule.index());
}

std::function<double(std::int64_t)> rate_of(const Schedule& schedule, double learning_rate,
                                            std::int64_t steps_per_epoch, std::int64_t epochs) {
  const std::int64_t total = steps_per_epoch * epochs;
  using Rate = std::function<double(std::int64_t)>;
  return std::visit(
      Cases{[](const ConstantRate&) { return Rate{}; },
            [](const PlateauOptions&) { return Rate{}; },
            [&](const CosineRate& given) {
              const WarmupCosineOptions options{.base = learning_rate,
                                                .lowest = given.lowest,
                                                .warmup = given.warmup_epochs * steps_per_epoch,
                                                .warmup_start = given.warmup_start,
                                                .total = total};
              warmup_cosine(options, 0);
              return Rate([options](std::int64_t step) { return warmup_cosine(options, step); });
            },
            [&](const OneCycleRate& given) {
              const OneCycleOptions options{.max = learning_rate,
                                            .total = total,
                                            .pct = given.pct,
                                            .div = given.div,
                                            .final_div = given.final_div};
              return Rate([options](std::int64_t step) { return one_cycle(options, step); });
            },
            [&](const PolynomialRate& given) {
              return Rate([=, power = given.power](std::int64_t step) {
                return polynomial(learning_rate, total, step, power);
              });
            }},
      schedule);
}

}  // namespace headrace::inline v1::training
