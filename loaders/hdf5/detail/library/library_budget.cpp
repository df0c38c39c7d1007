#include <headrace/loaders/hdf5/detail/library/library_budget.h>

#include <atomic>

namespace headrace::inline v1::detail {
namespace {

std::atomic<BudgetHook> the_hook{nullptr};

}  // namespace

void set_budget_hook(BudgetHook hook) noexcept {
  the_hook = hook;
}

void expect_work(std::size_t work, std::size_t memory) {
  if (const BudgetHook hook = the_hook) hook(work, memory);
}

}  // namespace headrace::inline v1::detail
