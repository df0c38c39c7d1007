#include <headrace/engine/base/error.h>
#include <headrace/training/loss_terms.h>

#include <algorithm>
#include <limits>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::training {

namespace {

constexpr const char* state_prefix = "term.";
constexpr const char* figure_prefix = "loss_";  // before the name of a term

// What came from a checkpoint lies on the CPU.
void add_to(at::Tensor& sum, const at::Tensor& more) {
  sum = sum.defined() ? sum.to(more.device()) + more : more;
}

at::Tensor weights_of(const std::vector<Term>& terms, const Example& example, std::int64_t rows,
                      const at::Tensor& like) {
  const auto own = [](const Term& term) { return term.weight.defined(); };
  if (!example.weight.defined() && std::ranges::none_of(terms, own))
    return at::full_like(like, static_cast<double>(rows));
  std::vector<at::Tensor> weights;
  weights.reserve(terms.size());
  for (const Term& term : terms) {
    const at::Tensor& known = own(term) ? term.weight : example.weight;
    weights.push_back(known.defined() ? known.detach().to(like.options(), /*non_blocking=*/true)
                                      : at::full({}, static_cast<double>(rows), like.options()));
  }
  return at::stack(weights);
}

}  // namespace

double figure(const Figures& figures, const std::string& name) {
  const auto found = std::ranges::find(figures, name, &Figures::value_type::first);
  return found == figures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

at::Tensor total(const std::vector<Term>& terms) {
  at::Tensor sum;
  for (const Term& term : terms) {
    const at::Tensor part = term.factor == 1.0 ? term.value : term.value * term.factor;
    sum = sum.defined() ? sum + part : part;
  }
  if (!sum.defined()) throw ConfigError("[loss] a loss must have a term, got none");
  return sum;
}

void LossMeans::add(const std::vector<Term>& terms, const Example& example) {
  const std::int64_t rows = counted_rows(example);
  if (rows == 0) return;
  std::vector<at::Tensor> values;
  values.reserve(2 * terms.size());
  std::vector<std::string> names;
  names.reserve(terms.size());
  for (const Term& term : terms) {
    values.push_back(term.value.detach().to(at::kDouble));
    names.push_back(term.name);
  }
  for (std::size_t i = 0; i < terms.size(); ++i)
    values.push_back(terms[i].factor == 1.0 ? values[i] : values[i] * terms[i].factor);
  take_names(std::move(names));
  const at::Tensor value = at::stack(values).view({2, -1});
  const at::Tensor weight = weights_of(terms, example, rows, value.select(0, 0));
  take(at::where(weight == 0, 0.0, value * weight), weight, rows);  // else 0 * NaN is NaN
}

void LossMeans::add(const LossMeans& others) {
  if (others.rows_ == 0) return;
  take_names(others.names_);
  take(others.sums_, others.weights_, others.rows_);
}

void LossMeans::take_names(std::vector<std::string> names) {
  if (!names_.empty() && names != names_)
    throw ConfigError("[loss] each batch must have the same terms, got " +
                      std::to_string(names.size()) + " with other names or in another order");
  names_ = std::move(names);
}

// The sums and the weights of one batch, or of several.
void LossMeans::take(at::Tensor sums, at::Tensor weights, std::int64_t rows) {
  if (only_finite_) {
    const at::Tensor finite = at::isfinite(sums).all();
    sums = at::where(finite, sums, 0.0);
    weights = at::where(finite, weights, 0.0);
    add_to(left_out_, finite.logical_not().to(at::kDouble));
  }
  add_to(sums_, sums);
  add_to(weights_, weights);
  rows_ += rows;
}

at::Tensor LossMeans::means() const {
  const at::Tensor nothing = weights_ == 0;
  at::Tensor of_nothing = at::zeros_like(sums_);
  if (left_out_.defined())
    of_nothing.masked_fill_(left_out_ > 0, std::numeric_limits<double>::quiet_NaN());
  return at::where(nothing, of_nothing, sums_ / at::where(nothing, 1.0, weights_));
}

models::NamedTensors LossMeans::terms() const {
  models::NamedTensors terms;
  if (names_.size() < 2 || !sums_.defined()) return terms;
  const at::Tensor mean = means();
  for (std::size_t i = 0; i < names_.size(); ++i)
    terms.push_back(
        {.name = figure_prefix + names_[i], .tensor = mean[0][static_cast<std::int64_t>(i)]});
  return terms;
}

Figures LossMeans::figures() const {
  if (!sums_.defined()) return {{"loss", std::numeric_limits<double>::quiet_NaN()}};
  const at::Tensor known = means().cpu();
  const auto count = static_cast<std::int64_t>(names_.size());
  const double* mean = known.const_data_ptr<double>();
  Figures all{{"loss", 0.0}};
  for (std::int64_t i = 0; i < count; ++i) {
    all.front().second += mean[count + i];
    if (count > 1) all.emplace_back(figure_prefix + names_[static_cast<std::size_t>(i)], mean[i]);
  }
  return all;
}

TensorMap LossMeans::state() const {
  TensorMap state{{"rows", at::tensor({rows_}, at::kLong)}};
  if (left_out_.defined()) state.emplace("left_out", left_out_.cpu());
  if (!sums_.defined()) return state;
  const at::Tensor kept = at::cat({sums_, weights_.unsqueeze(0)}).cpu();  // [3, terms]
  for (std::size_t i = 0; i < names_.size(); ++i)
    state.emplace(state_prefix + std::to_string(i) + "." + names_[i],
                  kept.select(1, static_cast<std::int64_t>(i)).contiguous());
  return state;
}

void LossMeans::restore(const TensorMap& state) {
  *this = LossMeans(only_finite_);
  const auto left_out = state.find("left_out");
  if (only_finite_ && left_out != state.end()) left_out_ = left_out->second.clone();
  const auto rows = state.find("rows");
  if (rows != state.end()) rows_ = rows->second.item<std::int64_t>();
  std::vector<at::Tensor> terms;
  for (std::size_t i = 0;; ++i) {
    const std::string begin = state_prefix + std::to_string(i) + ".";
    const auto found = std::ranges::find_if(
        state, [&](const auto& entry) { return entry.first.starts_with(begin); });
    if (found == state.end()) break;
    names_.push_back(found->first.substr(begin.size()));
    terms.push_back(found->second);
  }
  if (terms.empty()) return;
  const at::Tensor kept = at::stack(terms, 1);
  sums_ = kept.narrow(0, 0, 2).contiguous();
  weights_ = kept.select(0, 2).contiguous();
}

}  // namespace headrace::inline v1::training
