#pragma once

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
 public:
  /// A scratch on loan.
  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<Scratch> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}
    ~Loan() { pool_.give(std::move(scratch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch& operator*() const noexcept { return *scratch_; }
    Scratch* operator->() const noexcept { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Loan take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(free_.back());
        free_.pop_back();
        return {*this, std::move(scratch)};
      }
      free_.reserve(++made_);  // so that giving back takes no memory
    }
    return {*this, std::make_unique<Scratch>()};
  }

 private:
  void give(std::unique_ptr<Scratch> scratch) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
  std::size_t made_ = 0;
};

}  // namespace headrace::inline v1::detail
