#include <headrace/engine/order/detail/feistel.h>
#include <headrace/engine/order/detail/pass_stream.h>
#include <headrace/engine/order/order.h>

namespace headrace::inline v1 {

namespace {

class ShuffledStream final : public detail::PassStream {
 public:
  ShuffledStream(const Shuffled& order, std::int64_t records)
      : PassStream(records, order.epoch_size), seed_(order.seed) {}

  std::uint64_t seed() const noexcept override { return seed_; }
  std::string describe() const override {
    return "shuffled (seed " + std::to_string(seed_) + ")" +
           detail::describe_length(records(), length());
  }

 private:
  void fill(Pass pass, std::int64_t first, std::span<std::int64_t> out) const override {
    const detail::PermutationKey key{
        .seed = seed_, .epoch = pass.epoch, .pass = pass.number, .salt = 1};
    const detail::Feistel permutation(static_cast<std::uint64_t>(records()), key);
    permutation(static_cast<std::uint64_t>(first), out);
  }

  std::uint64_t seed_;
};

}  // namespace

std::shared_ptr<const IndexStream> Shuffled::bind(std::int64_t records) const {
  detail::check_order("Shuffled", records, epoch_size);
  return std::make_shared<ShuffledStream>(*this, records);
}

}  // namespace headrace::inline v1
