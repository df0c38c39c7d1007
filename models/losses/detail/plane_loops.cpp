#include <headrace/models/losses/detail/plane_loops.h>

#include <ATen/TensorIterator.h>
#include <ATen/ops/arange.h>

namespace headrace::inline v1::models::detail {

void on_threads(std::int64_t count, std::int64_t least,
                c10::function_ref<void(std::int64_t begin, std::int64_t end)> work) {
  at::Tensor numbers = at::arange(count, at::kLong);
  at::TensorIterator all = at::TensorIterator::nullary_op(numbers);
  all.for_each(
      [&](char** data, const std::int64_t* /*strides*/, std::int64_t size, std::int64_t rows) {
        const std::int64_t begin = *reinterpret_cast<const std::int64_t*>(data[0]);
        work(begin, begin + size * rows);
      },
      least);
}

}  // namespace headrace::inline v1::models::detail
