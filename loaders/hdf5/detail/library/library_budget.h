#pragma once

#include <cstddef>

namespace headrace::inline v1::detail {

/// Told of work for the library that the size of its file does not tell: bytes that are read or
/// decoded, and bytes of memory that will be held.
using BudgetHook = void (*)(std::size_t work, std::size_t memory);

/// In a helper process, whose limits rise by what is expected. Null: nobody limits it.
void set_budget_hook(BudgetHook hook) noexcept;
void expect_work(std::size_t work, std::size_t memory);

}  // namespace headrace::inline v1::detail
