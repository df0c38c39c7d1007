#include <headrace/engine/order/detail/drawn_stream.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::inline v1 {

namespace {

constexpr std::uint64_t certain = std::numeric_limits<std::uint64_t>::max();

/// Vose: "A Linear Algorithm for Generating Random Numbers with a Given Distribution", IEEE TSE
/// 1991. Column i keeps i with probability keep[i] / 2^64, else gives alias[i].
struct AliasTable {
  std::vector<std::uint64_t> keep;
  std::vector<std::uint32_t> alias;

  explicit AliasTable(const std::vector<double>& weights)
      : keep(weights.size(), certain), alias(weights.size()) {
    double sum = 0;
    for (const double weight : weights)
      sum += weight;
    std::vector<double> share(weights.size());
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      share[i] = weights[i] / sum * static_cast<double>(weights.size());
      alias[i] = i;
      (share[i] < 1 ? small : large).push_back(i);
    }
    const auto heaviest =
        static_cast<std::uint32_t>(std::ranges::max_element(weights) - weights.begin());
    while (!small.empty()) {
      const std::uint32_t light = small.back();
      small.pop_back();
      if (large.empty()) {
        // Only rounding leaves a light column without a partner: its share is 1 but for the last
        // bits.
        if (weights[light] == 0) give(light, 0, heaviest);
        continue;
      }
      const std::uint32_t heavy = large.back();
      give(light, share[light], heavy);
      share[heavy] -= 1 - share[light];
      if (share[heavy] < 1) {
        large.pop_back();
        small.push_back(heavy);
      }
    }
  }

  void give(std::uint32_t column, double probability, std::uint32_t other) {
    keep[column] = static_cast<std::uint64_t>(probability * 0x1p64);
    alias[column] = other;
  }
};

class WeightedStream final : public detail::DrawnStream {
 public:
  WeightedStream(const Weighted& order, std::int64_t records)
      : DrawnStream(order.seed, records, order.epoch_size), table_(order.weights) {}

  std::string describe() const override {
    return "weighted draws (seed " + std::to_string(seed()) + ")" +
           detail::describe_length(records(), length());
  }
  std::size_t bytes() const noexcept override {
    return table_.keep.size() * sizeof(std::uint64_t) + table_.alias.size() * sizeof(std::uint32_t);
  }

 private:
  std::int64_t index(std::uint64_t first, std::uint64_t second) const noexcept override {
    const std::uint64_t column = detail::scale(first, table_.keep.size());
    const bool kept = second < table_.keep[column];
    return static_cast<std::int64_t>(kept ? column : table_.alias[column]);
  }

  AliasTable table_;
};

void check_weights(const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      throw ConfigError("[order] Weighted: a weight is finite and at least 0, weight " +
                        std::to_string(i) + " is " + std::to_string(weights[i]));
    }
    sum += weights[i];
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw ConfigError("[order] Weighted: the sum of the weights is positive and finite, got " +
                      std::to_string(sum));
  }
}

}  // namespace

std::shared_ptr<const IndexStream> Weighted::bind(std::int64_t records) const {
  detail::check_order("Weighted", records, epoch_size);
  detail::check_one_each("Weighted", "weights", weights.size(), records);
  check_weights(weights);
  return std::make_shared<WeightedStream>(*this, records);
}

}  // namespace headrace::inline v1
