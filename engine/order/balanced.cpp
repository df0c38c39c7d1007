#include <headrace/engine/order/detail/drawn_stream.h>

#include <algorithm>
#include <numeric>

namespace headrace::inline v1 {

namespace {

class BalancedStream final : public detail::DrawnStream {
 public:
  BalancedStream(const Balanced& order, std::int64_t records)
      : DrawnStream(order.seed, records, order.epoch_size), by_class_(order.labels.size()) {
    const std::vector<std::int64_t>& labels = order.labels;
    std::iota(by_class_.begin(), by_class_.end(), 0U);
    std::ranges::stable_sort(by_class_, {}, [&](std::uint32_t i) { return labels[i]; });
    for (std::uint32_t i = 0; i < by_class_.size(); ++i) {
      if (i == 0 || labels[by_class_[i]] != labels[by_class_[i - 1]]) first_.push_back(i);
    }
    first_.push_back(static_cast<std::uint32_t>(by_class_.size()));
  }

  std::string describe() const override {
    return "balanced draws from " + std::to_string(classes()) + " classes (seed " +
           std::to_string(seed()) + ")" + detail::describe_length(records(), length());
  }
  std::size_t bytes() const noexcept override {
    return (by_class_.size() + first_.size()) * sizeof(std::uint32_t);
  }

 private:
  std::size_t classes() const noexcept { return first_.size() - 1; }

  std::int64_t index(std::uint64_t first, std::uint64_t second) const noexcept override {
    const std::uint64_t chosen = detail::scale(first, classes());
    const std::uint32_t begin = first_[chosen];
    return by_class_[begin + detail::scale(second, first_[chosen + 1] - begin)];
  }

  std::vector<std::uint32_t> by_class_;  ///< records, class after class
  std::vector<std::uint32_t> first_;     ///< where each class begins, and the end
};

}  // namespace

std::shared_ptr<const IndexStream> Balanced::bind(std::int64_t records) const {
  detail::check_order("Balanced", records, epoch_size);
  detail::check_one_each("Balanced", "labels", labels.size(), records);
  return std::make_shared<BalancedStream>(*this, records);
}

}  // namespace headrace::inline v1
