#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Scratches for threads that come and go: as many as were ever in use at once.
template <class Scratch>
class ScratchPool {
  struct Held {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> free;
    std::size_t made = 0;
  };

 public:
  /// A scratch on loan.
  class Loan {
   public:
    Loan(Held& pool, std::unique_ptr<Scratch> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}
    ~Loan() {
      const std::lock_guard lock(pool_.mutex);
      pool_.free.push_back(std::move(scratch_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch& operator*() const noexcept { return *scratch_; }
    Scratch* operator->() const noexcept { return scratch_.get(); }

   private:
    Held& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Loan take() {
    Held& pool = *held_;
    {
      const std::lock_guard lock(pool.mutex);
      if (!pool.free.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(pool.free.back());
        pool.free.pop_back();
        return {pool, std::move(scratch)};
      }
      pool.free.reserve(++pool.made);  // so that giving back takes no memory
    }
    return {pool, std::make_unique<Scratch>()};
  }

 private:
  PerProcess<Held> held_;
};

}  // namespace headrace::inline v1::detail
