#include <headrace/training/metrics/nan_cases.h>

#include <limits>
#include <numeric>
#include <vector>

#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::training {

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

}  // namespace

// The largest of each row is NaN where one of its values is: nothing of the size of all is made.
at::Tensor rows_with_nan(const at::Tensor& values) {
  const auto is_nan = [](const at::Tensor& some) { return some.ne(some); };  // isnan() lacks meta
  if (values.dim() < 2) return is_nan(values);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(values.dim() - 1));
  std::iota(axes.begin(), axes.end(), 1);
  return is_nan(at::amax(values, axes));
}

std::string NoNumbers::words(std::int64_t of) const {
  return "NaN for " + std::to_string(cases) + " of " + std::to_string(of) + " records, the first " +
         first;
}

void NanCases::add(const Cases& cases) {
  const at::Tensor& values = cases.scores.defined() ? cases.scores : cases.output.main;
  if (!values.defined() || values.dim() < 1 || values.numel() == 0 || !values.is_floating_point())
    return;
  at::Tensor bad = rows_with_nan(values);
  const at::Tensor& present = cases.example.present;
  if (present.defined()) bad = bad & present.to(bad.device());
  at::Tensor count = bad.sum();
  if (count_.defined()) count = count + count_.to(count.device());
  at::Tensor first = first_;
  if (knows_first_) {
    const at::Tensor number =
        at::arange(cases.first, cases.first + bad.size(0), bad.options().dtype(at::kLong));
    first = at::where(bad, number, none).amin();
    if (first_.defined()) first = at::minimum(first, first_);
  }
  count_ = count;
  first_ = first;
}

std::int64_t NanCases::count() const {
  if (!count_.defined() || count_.is_meta()) return 0;  // which has no values
  return count_.item<std::int64_t>();
}

std::int64_t NanCases::first() const {
  return first_.item<std::int64_t>();
}

Figures not_numbers(Figures figures) {
  for (auto& [name, value] : figures)
    value = std::numeric_limits<double>::quiet_NaN();
  return figures;
}

}  // namespace headrace::inline v1::training
