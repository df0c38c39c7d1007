#include <headrace/training/memory/tensor_memory.h>

#include <cstdint>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>

using namespace headrace::training;

namespace {

constexpr std::int64_t mib = 1 << 20;

std::int64_t held() {
  return static_cast<std::int64_t>(tensor_memory(at::kCPU).allocated);
}

at::Tensor bytes(std::int64_t count) {
  return at::zeros({count}, at::kByte);
}

}  // namespace

TEST_CASE("tensors of the CPU are counted while they live, and their peak stays") {
  count_tensor_memory();
  const std::int64_t before = held();
  reset_peak_tensor_memory(at::kCPU);
  {
    const at::Tensor small = bytes(mib);
    {
      const at::Tensor large = bytes(8 * mib);
      CHECK(held() - before >= 9 * mib);
      CHECK(held() - before < 9 * mib + 64 * 1024);
    }
    CHECK(held() - before < 2 * mib);
    const auto peak = static_cast<std::int64_t>(tensor_memory(at::kCPU).peak);
    CHECK(peak - before >= 9 * mib);
    reset_peak_tensor_memory(at::kCPU);
    CHECK(static_cast<std::int64_t>(tensor_memory(at::kCPU).peak) < peak);
  }
  CHECK(held() == before);
  count_tensor_memory();
  CHECK(held() == before);
}

TEST_CASE(
    "a tensor above the limit of the CPU's is refused as one of a GPU's is, and costs nothing") {
  count_tensor_memory();
  const std::int64_t before = held();
  limit_cpu_tensors(static_cast<std::uint64_t>(before + 4 * mib));
  CHECK_NOTHROW(bytes(3 * mib));
  CHECK_THROWS_AS(bytes(5 * mib), c10::OutOfMemoryError);
  CHECK(held() == before);
  limit_cpu_tensors(0);
  CHECK_NOTHROW(bytes(5 * mib));
  CHECK_THROWS_AS(bytes(std::int64_t{1} << 60), c10::OutOfMemoryError);
}

TEST_CASE("tensors are refused as somebody wants it") {
  count_tensor_memory();
  refuse_cpu_tensors([count = 0](std::uint64_t) mutable { return ++count == 2; });
  CHECK_NOTHROW(bytes(mib));
  CHECK_THROWS_AS(bytes(mib), c10::OutOfMemoryError);
  CHECK_NOTHROW(bytes(mib));
  refuse_cpu_tensors({});
  CHECK_NOTHROW(bytes(mib));
}
