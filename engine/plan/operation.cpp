#include <headrace/engine/plan/operation.h>

#include <array>
#include <mutex>
#include <new>
#include <vector>

namespace headrace::inline v1::detail {

namespace {

using Call = std::function<void(Sample&, Random&)>;

/// Operations that are not in use, most recent last. Striped by worker, so that a lock is never
/// contended.
class Spares {
 public:
  explicit Spares(std::function<Call()> make) : make_(std::move(make)) {}

  Call take(int worker) {
    Stripe& stripe = stripe_of(worker);
    {
      std::lock_guard lock(stripe.mutex);
      if (!stripe.calls.empty()) {
        Call call = std::move(stripe.calls.back());
        stripe.calls.pop_back();
        return call;
      }
    }
    return make_();
  }

  void give_back(int worker, Call call) {
    Stripe& stripe = stripe_of(worker);
    std::lock_guard lock(stripe.mutex);
    stripe.calls.push_back(std::move(call));
  }

 private:
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::vector<Call> calls;
  };
  Stripe& stripe_of(int worker) {
    return stripes_[static_cast<std::size_t>(worker) % stripes_.size()];
  }

  std::function<Call()> make_;
  std::array<Stripe, 64> stripes_;
};

}  // namespace

std::function<void(Sample&, Random&, int)> per_worker_step(std::function<Call()> make) {
  auto spares = std::make_shared<Spares>(std::move(make));
  return [spares](Sample& sample, Random& random, int worker) {
    struct Held {
      Spares& spares;
      int worker;
      Call call;
      ~Held() {
        try {
          spares.give_back(worker, std::move(call));
        } catch (const std::bad_alloc&) {
          return;  // no room to keep it: the next call makes another
        }
      }
    } held{*spares, worker, spares->take(worker)};
    held.call(sample, random);
  };
}

}  // namespace headrace::inline v1::detail
