#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/one_vs_one.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace headrace::inline v1::models {

namespace {

constexpr double tie = 1e-9;

void fill(const char* what, std::vector<double>& values, std::size_t count) {
  if (values.empty()) values.assign(count, 1.0);
  if (values.size() == count) return;
  throw ConfigError(std::string("[vote] there must be one of the ") + what + " for each of " +
                    std::to_string(count) + ", got " + std::to_string(values.size()));
}

// Keeps of these classes those with the largest value.
void keep_largest(std::vector<std::int64_t>& classes, std::span<const double> values) {
  const auto value = [&](std::int64_t of) { return values[static_cast<std::size_t>(of)]; };
  double largest = value(classes.front());
  for (const std::int64_t one : classes)
    largest = std::max(largest, value(one));
  std::erase_if(classes, [&](std::int64_t one) { return value(one) < largest - tie; });
}

// A dense square matrix.
class Square {
 public:
  explicit Square(std::size_t side) : side_(side), values_(side * side, 0.0) {}
  double& at(std::size_t row, std::size_t column) { return values_[row * side_ + column]; }
  std::vector<double> times(const std::vector<double>& vector) const {
    std::vector<double> product(side_, 0.0);
    for (std::size_t row = 0; row < side_; ++row)
      product[row] =
          std::inner_product(vector.begin(), vector.end(),
                             values_.begin() + static_cast<std::ptrdiff_t>(row * side_), 0.0);
    return product;
  }

 private:
  std::size_t side_;
  std::vector<double> values_;
};

}  // namespace

std::vector<ClassPair> class_pairs(std::int64_t classes) {
  if (classes < 2)
    throw ConfigError("[vote] there must be two classes at least, got " + std::to_string(classes));
  std::vector<ClassPair> pairs;
  for (std::int64_t first = 0; first < classes; ++first)
    for (std::int64_t second = first + 1; second < classes; ++second)
      pairs.emplace_back(first, second);
  return pairs;
}

OneVsOneVote::OneVsOneVote(VoteOptions options)
    : options_(std::move(options)), pairs_(class_pairs(options_.classes)) {
  const auto classes = static_cast<std::size_t>(options_.classes);
  fill("accuracies", options_.accuracies, pairs_.size());
  fill("class weights", options_.class_weights, classes);
  fill("boosts", options_.boosts, classes);
  fill("shares", options_.prior, classes);
}

void OneVsOneVote::check(std::span<const double> second) const {
  if (second.size() != pairs_.size())
    throw DataError("[vote] there must be a probability for each of " +
                    std::to_string(pairs_.size()) + " pairs, got " + std::to_string(second.size()));
  for (const double p : second)
    if (!(p >= 0.0 && p <= 1.0))
      throw DataError("[vote] a pair's probability must be in [0, 1], got " + std::to_string(p));
}

std::vector<double> OneVsOneVote::scores(VoteScheme scheme, std::span<const double> second) const {
  check(second);
  if (scheme == VoteScheme::coupling) return coupled(second);
  std::vector<double> scores(static_cast<std::size_t>(options_.classes), 0.0);
  const auto add = [&](std::int64_t winner, double r, std::size_t pair) {
    const auto of = static_cast<std::size_t>(winner);
    const double confidence = std::abs(2.0 * r - 1.0);
    switch (scheme) {
      case VoteScheme::hard:
        scores[of] += r > 0.5 ? 1.0 : 0.0;
        break;
      case VoteScheme::soft:
        scores[of] += r;
        break;
      case VoteScheme::confidence:
        scores[of] += r * confidence;
        break;
      default:
        if (r > 0.5)
          scores[of] += options_.accuracies[pair] * options_.accuracies[pair] * confidence *
                        options_.class_weights[of] * options_.boosts[of];
    }
  };
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    add(pairs_[pair].first, 1.0 - second[pair], pair);
    add(pairs_[pair].second, second[pair], pair);
  }
  return scores;
}

std::vector<double> OneVsOneVote::coupled(std::span<const double> second) const {
  constexpr double least = 1e-7;  // a certain pair would leave nothing to divide by
  constexpr int most_rounds = 1000;
  constexpr double settled = 1e-13;
  const auto classes = static_cast<std::size_t>(options_.classes);
  Square q(classes);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const auto i = static_cast<std::size_t>(pairs_[pair].first);
    const auto j = static_cast<std::size_t>(pairs_[pair].second);
    const double r = std::clamp(1.0 - second[pair], least, 1.0 - least);
    q.at(i, i) += (1.0 - r) * (1.0 - r);
    q.at(j, j) += r * r;
    q.at(i, j) = q.at(j, i) = -r * (1.0 - r);
  }
  std::vector<double> p(classes, 1.0 / static_cast<double>(classes));
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<double> qp = q.times(p);
    double whole = std::inner_product(p.begin(), p.end(), qp.begin(), 0.0);
    const bool done =
        std::ranges::all_of(qp, [&](double one) { return std::abs(one - whole) < settled; });
    if (done) break;
    for (std::size_t t = 0; t < classes; ++t) {
      qp = q.times(p);
      whole = std::inner_product(p.begin(), p.end(), qp.begin(), 0.0);
      p[t] += (whole - qp[t]) / q.at(t, t);
      const double sum = std::accumulate(p.begin(), p.end(), 0.0);
      for (double& one : p)
        one /= sum;
    }
  }
  return p;
}

std::int64_t OneVsOneVote::winner(std::span<const double> scores,
                                  std::span<const double> second) const {
  if (scores.size() != static_cast<std::size_t>(options_.classes))
    throw DataError("[vote] there must be a score for each of " + std::to_string(options_.classes) +
                    " classes, got " + std::to_string(scores.size()));
  std::vector<std::int64_t> classes(scores.size());
  std::iota(classes.begin(), classes.end(), 0);
  keep_largest(classes, scores);
  if (classes.size() > 1) keep_largest(classes, this->scores(VoteScheme::soft, second));
  if (classes.size() > 1) keep_largest(classes, options_.prior);
  return classes.front();
}

}  // namespace headrace::inline v1::models
