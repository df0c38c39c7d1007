#include <headrace/engine/order/detail/pass_stream.h>
#include <headrace/engine/order/order.h>

#include <numeric>

namespace headrace::inline v1 {

namespace {

class SequentialStream final : public detail::PassStream {
 public:
  using PassStream::PassStream;

  std::uint64_t seed() const noexcept override { return 0; }
  std::string describe() const override {
    return "sequential" + detail::describe_length(records(), length());
  }

 private:
  void fill(Pass, std::int64_t first, std::span<std::int64_t> out) const override {
    std::iota(out.begin(), out.end(), first);
  }
};

}  // namespace

std::shared_ptr<const IndexStream> Sequential::bind(std::int64_t records) const {
  detail::check_order("Sequential", records, epoch_size);
  return std::make_shared<SequentialStream>(records, epoch_size);
}

}  // namespace headrace::inline v1
