#pragma once

#include <headrace/benchmarks/device/side.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <functional>

namespace headrace::inline v1::bench {

/// The gather kernel and nothing around it, on memory of its own: `rows` (int64, where the side is)
/// of a table of `table_rows` rows of `row_bytes`. The only place here that knows what the kernel
/// takes.
std::function<void()> gather_alone(const Side& side, const Tensor& rows, std::int64_t table_rows,
                                   std::size_t row_bytes);

}  // namespace headrace::inline v1::bench
