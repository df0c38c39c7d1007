#pragma once

#include <cstdint>

#include <c10/util/FunctionRef.h>

namespace headrace::inline v1::models::detail {

/// Calls `work(begin, end)` on parts of [0, count) that are `least` long or longer, on LibTorch's
/// threads, and returns when all is done. `at::parallel_for` is serial where it is compiled without
/// OpenMP.
void on_threads(std::int64_t count, std::int64_t least,
                c10::function_ref<void(std::int64_t begin, std::int64_t end)> work);

}  // namespace headrace::inline v1::models::detail
