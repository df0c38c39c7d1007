#pragma once

#include <headrace/engine/batch/internal/layout.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/huge_pages.h>

#include <thread>
#include <vector>

namespace headrace::inline v1::bench {

/// Runs `work(thread)` on `count` threads and waits.
template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::thread> crew;
  for (int t = 0; t < count; ++t)
    crew.emplace_back([&, t] { work(t); });
  for (std::thread& thread : crew)
    thread.join();
}

/// The slabs of a limit: same layout, same number, as the loader's.
class Ring {
 public:
  Ring(const Schema& schema, std::int64_t batch, int slabs)
      : layout(schema, batch, false),
        slabs_(slabs),
        memory_(layout.bytes() * static_cast<std::size_t>(slabs)) {}

  std::byte* slab(std::int64_t batch) const {
    return memory_.data() + layout.bytes() * static_cast<std::size_t>(batch % slabs_);
  }
  /// Gives the sample its row of the batch, field by field.
  void bind(Sample& sample, std::int64_t batch, std::int64_t row) const {
    sample.reset();
    for (const auto& field : layout.fields()) {
      std::byte* cell = layout.cell(slab(batch), field.values, row);
      sample.bind_row(field.spec.name, Tensor::borrow(cell, field.spec.dtype, field.spec.shape));
    }
  }

  const detail::Layout layout;

 private:
  int slabs_;
  HugePages memory_;
};

}  // namespace headrace::inline v1::bench
