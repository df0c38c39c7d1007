#include <headrace/training/stage/stage_schedule.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::inline v1::training {

namespace {

struct RateAt {
  double rate;
  const SchedulePlace& place;
  std::int64_t total = place.steps_per_epoch * place.epochs;

  double operator()(const ConstantRate&) const { return rate; }
  double operator()(const CosineRate& given) const {
    return warmup_cosine({.base = rate,
                          .lowest = std::min(given.lowest, rate),
                          .warmup = given.warmup_epochs * place.steps_per_epoch,
                          .warmup_start = given.warmup_start,
                          .total = total},
                         place.update);
  }
  double operator()(const OneCycleRate& given) const {
    return one_cycle({.max = rate,
                      .total = total,
                      .pct = given.pct,
                      .div = given.div,
                      .final_div = given.final_div},
                     place.update);
  }
  double operator()(const PolynomialRate& given) const {
    return polynomial(rate, total, place.update, given.power);
  }
  double operator()(const StepRate& given) const {
    const std::int64_t epoch = place.update / place.steps_per_epoch;
    const auto past = [&](std::int64_t at) { return at <= epoch; };
    const std::int64_t steps =
        given.at.empty() ? epoch / given.every : std::ranges::count_if(given.at, past);
    return rate * std::pow(given.factor, static_cast<double>(steps));
  }
  double operator()(const PlateauOptions& given) const {
    return plateau_rate(given, rate, place.reductions);
  }
};

}  // namespace

const char* name_of(const Schedule& schedule) {
  constexpr std::array names{"constant", "cosine", "one-cycle", "polynomial", "step", "plateau"};
  return names.at(schedule.index());
}

double rate_at(const Schedule& schedule, double rate, const SchedulePlace& place) {
  return std::visit(RateAt{.rate = rate, .place = place}, schedule);
}

std::optional<double> momentum_at(const Schedule& schedule, const SchedulePlace& place) {
  const auto* cycle = std::get_if<OneCycleRate>(&schedule);
  if (cycle == nullptr || !cycle->cycle_momentum) return std::nullopt;
  return one_cycle_momentum({.total = place.steps_per_epoch * place.epochs, .pct = cycle->pct},
                            cycle->low_momentum, cycle->high_momentum, place.update);
}

}  // namespace headrace::inline v1::training
