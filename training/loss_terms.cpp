#include <headrace/engine/base/error.h>
#include <headrace/training/loss_terms.h>

#include <algorithm>
#include <limits>

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace headrace::inline v1::training {

namespace {

constexpr const char* prefix = "term.";

// [sum, weight] of a term as a checkpoint keeps them, and its factor.
at::Tensor kept(double sum, double weight, double factor) {
  return at::tensor({sum, weight, factor}, at::kDouble);
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
    weights.push_back(known.defined() ? known.detach().to(at::kDouble)
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
  values.reserve(terms.size());
  std::vector<std::string> names;
  names.reserve(terms.size());
  factors_.clear();
  for (const Term& term : terms) {
    values.push_back(term.value.detach().to(at::kDouble));
    names.push_back(term.name);
    factors_.push_back(term.factor);
  }
  if (!names_.empty() && names != names_)
    throw ConfigError("[loss] each batch must have the same terms, got " +
                      std::to_string(names.size()) + " with other names or in another order");
  names_ = std::move(names);
  const at::Tensor value = at::stack(values);
  const at::Tensor weight = weights_of(terms, example, rows, value);
  sums_ = sums_.defined() ? sums_.to(value.device()) + value * weight : value * weight;
  weights_ = weights_.defined() ? weights_.to(value.device()) + weight : weight;
  rows_ += rows;
}

Figures LossMeans::figures() const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (!sums_.defined()) return {{"loss", none}};
  const at::Tensor means = (sums_ / weights_).cpu();
  Figures all{{"loss", 0.0}};
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const double mean = means.const_data_ptr<double>()[i];
    all.front().second += factors_[i] * mean;
    if (names_.size() > 1) all.emplace_back("loss_" + names_[i], mean);
  }
  return all;
}

TensorMap LossMeans::state() const {
  TensorMap state{{"rows", at::tensor({rows_}, at::kLong)}};
  if (!sums_.defined()) return state;
  const at::Tensor sums = sums_.cpu();
  const at::Tensor weights = weights_.cpu();
  for (std::size_t i = 0; i < names_.size(); ++i)
    state.emplace(
        prefix + std::to_string(i) + "." + names_[i],
        kept(sums.const_data_ptr<double>()[i], weights.const_data_ptr<double>()[i], factors_[i]));
  return state;
}

void LossMeans::restore(const TensorMap& state) {
  *this = {};
  const auto rows = state.find("rows");
  if (rows != state.end()) rows_ = rows->second.item<std::int64_t>();
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> weights;
  for (std::size_t i = 0;; ++i) {
    const std::string begin = prefix + std::to_string(i) + ".";
    const auto found = std::ranges::find_if(
        state, [&](const auto& entry) { return entry.first.starts_with(begin); });
    if (found == state.end()) break;
    names_.push_back(found->first.substr(begin.size()));
    sums.push_back(found->second[0]);
    weights.push_back(found->second[1]);
    factors_.push_back(found->second[2].item<double>());
  }
  if (sums.empty()) return;
  sums_ = at::stack(sums);
  weights_ = at::stack(weights);
}

}  // namespace headrace::inline v1::training
