#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/support/skip.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::Device;
using headrace::DType;
using headrace::ResourceError;
using headrace::Shape;
using headrace::Tensor;

Tensor counting() {
  const std::vector<std::int32_t> values{0, 1, 2, 3, 4, 5};
  return Tensor::of<std::int32_t>(values, {3, 2});
}

TEST_CASE("owned memory begins on a cache line and is shared by copies of the handle") {
  const Tensor a = Tensor::empty(DType::float32, {3, 5});
  CHECK(reinterpret_cast<std::uintptr_t>(a.raw()) % 64 == 0);
  CHECK(a.bytes() == 60);
  const Tensor b = a;
  CHECK(b.raw() == a.raw());
  CHECK(a.keep().use_count() == 2);
  const Tensor zero = Tensor::zeros(DType::int64, {1000});
  CHECK(std::ranges::count(zero.values<std::int64_t>(), 0) == 1000);
  CHECK(Tensor::empty(DType::uint8, {0}).raw() != nullptr);
}

TEST_CASE("values go in and come out") {
  const Tensor tensor = counting();
  CHECK(tensor.data<std::int32_t>()[5] == 5);
  CHECK(tensor.elements() == 6);
  CHECK(Tensor::scalar(2.5F).item<float>() == 2.5F);
  CHECK(Tensor::scalar(true).dtype() == DType::boolean);
  const std::vector<std::uint8_t> three(3);
  CHECK_THROWS_WITH_AS(Tensor::of<std::uint8_t>(three, {2, 2}),
                       "[tensor] 3 values cannot fill the shape [2, 2]", ConfigError);
}

TEST_CASE("asking for another type names both") {
  const Tensor tensor = counting();
  CHECK_THROWS_WITH_AS((void)tensor.data<float>(), "[tensor] int32 [3, 2] was asked for as float32",
                       ConfigError);
  CHECK_THROWS_WITH_AS((void)tensor.item<std::int32_t>(),
                       "[tensor] item() needs exactly one element, got int32 [3, 2] with 6",
                       ConfigError);
  CHECK_THROWS_AS((void)Tensor::scalar(1.0).item<float>(), ConfigError);
}

TEST_CASE("rows are views with the same keeper") {
  const Tensor tensor = counting();
  const Tensor row = tensor.row(1);
  CHECK(row.shape() == Shape{2});
  CHECK(row.data<std::int32_t>()[0] == 2);
  CHECK(row.keep() == tensor.keep());
  const Tensor part = tensor.rows(1, 3);
  CHECK(part.shape() == Shape{2, 2});
  CHECK(part.raw() == row.raw());
  CHECK(tensor.rows(3, 3).elements() == 0);
  CHECK(tensor.row(2).row(1).item<std::int32_t>() == 5);
  CHECK_THROWS_WITH_AS((void)tensor.row(3), "[tensor] rows [3, 4) of int32 [3, 2]", ConfigError);
  CHECK_THROWS_AS((void)tensor.row(-1), ConfigError);
  CHECK_THROWS_AS((void)tensor.rows(2, 1), ConfigError);
  CHECK_THROWS_AS((void)Tensor::scalar(1).row(0), ConfigError);
}

TEST_CASE("a view outlives the handle it was taken from") {
  Tensor row;
  {
    const Tensor tensor = counting();
    row = tensor.row(2);
  }
  CHECK(row.data<std::int32_t>()[1] == 5);
}

TEST_CASE("reshaped keeps memory and count, clone makes memory of its own") {
  const Tensor tensor = counting();
  const Tensor flat = tensor.reshaped({6});
  CHECK(flat.raw() == tensor.raw());
  CHECK_THROWS_AS((void)tensor.reshaped({5}), ConfigError);
  const Tensor copy = tensor.clone();
  copy.data<std::int32_t>()[0] = 99;
  CHECK(tensor.data<std::int32_t>()[0] == 0);
  CHECK(copy.shape() == tensor.shape());
  CHECK(copy.data<std::int32_t>()[5] == 5);
}

TEST_CASE("borrowed memory is released with the last handle and only then") {
  int released = 0;
  std::vector<float> memory(8, 1.0F);
  Tensor view;
  {
    const std::shared_ptr<const void> keep(memory.data(), [&](const void*) { ++released; });
    view = Tensor::borrow(memory.data(), DType::float32, {2, 4}, keep);
  }
  Tensor row = view.row(0);
  view = Tensor();
  CHECK(released == 0);
  row = Tensor();
  CHECK(released == 1);
}

TEST_CASE("device memory is named and not cloned by the host") {
  int dummy = 0;
  const Tensor tensor = Tensor::borrow(&dummy, DType::int32, {1}, {}, Device::cuda(1));
  CHECK(tensor.device() == Device::cuda(1));
  CHECK(tensor.row(0).device() == Device::cuda(1));
  CHECK_THROWS_WITH_AS((void)tensor.clone(),
                       "[tensor] clone() copies host memory, this tensor is on cuda:1",
                       ConfigError);
}

TEST_CASE("sizes that no memory holds are refused before they are asked for") {
  CHECK_THROWS_AS((void)Tensor::empty(DType::float64, {std::int64_t{1} << 62}), ConfigError);
  if (headrace::test::sanitized)
    return headrace::test::skip("a sanitizer ends the program instead");
  CHECK_THROWS_AS((void)Tensor::empty(DType::uint8, {(std::int64_t{1} << 62) / 8}), ResourceError);
}

}  // namespace
