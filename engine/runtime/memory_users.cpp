#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/internal/memory_users.h>

#include <string>

namespace headrace::inline v1::detail {

void MemoryUsers::add(MemoryUser& user) {
  const std::lock_guard lock(mutex_);
  users_.push_back(&user);
}

void MemoryUsers::remove(const MemoryUser& user) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(users_, &user);
}

void MemoryUsers::set_share(double share) {
  if (!(share >= 0.0 && share <= 1.0))
    throw ConfigError("[runtime] a share must lie in [0, 1], got " + std::to_string(share));
  share_.store(share, std::memory_order_relaxed);
  tell();
}

void MemoryUsers::set_paused(bool paused) {
  paused_.store(paused, std::memory_order_relaxed);
  tell();
}

std::vector<LoaderHolding> MemoryUsers::holdings() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoaderHolding> all;
  all.reserve(users_.size());
  for (const MemoryUser* user : users_)
    all.push_back(user->holding());
  return all;
}

void MemoryUsers::tell() const noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < users_.size(); ++i)  // it may change the list
    users_[i]->share_changed();
}

}  // namespace headrace::inline v1::detail
