#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/dlpack.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/tests/support/torch_doctest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>

namespace {

using headrace::as_tensor;
using headrace::DType;
using headrace::Tensor;

TEST_CASE("a LibTorch tensor shows the same memory under the same shape") {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::of<float>(values, {2, 3});
  const at::Tensor seen = as_tensor(tensor);
  CHECK(seen.data_ptr() == tensor.raw());
  CHECK(seen.sizes() == at::IntArrayRef({2, 3}));
  CHECK(seen.is_contiguous());
  CHECK(seen.device().is_cpu());
  CHECK(seen.sum().item<float>() == 15);
  seen[1][2] = 50;
  CHECK(tensor.data<float>()[5] == 50);
}

TEST_CASE("every dtype has its LibTorch twin") {
  const std::vector<std::pair<DType, at::ScalarType>> pairs{
      {DType::uint8, at::kByte},        {DType::int8, at::kChar},     {DType::uint16, at::kUInt16},
      {DType::int16, at::kShort},       {DType::uint32, at::kUInt32}, {DType::int32, at::kInt},
      {DType::uint64, at::kUInt64},     {DType::int64, at::kLong},    {DType::float16, at::kHalf},
      {DType::bfloat16, at::kBFloat16}, {DType::float32, at::kFloat}, {DType::float64, at::kDouble},
      {DType::boolean, at::kBool}};
  for (const auto& [ours, theirs] : pairs) {
    const at::Tensor seen = as_tensor(Tensor::zeros(ours, {3}));
    CHECK((seen.scalar_type() == theirs));
    CHECK(seen.nbytes() == 3 * headrace::size_of(ours));
  }
}

TEST_CASE("the memory lives until the last LibTorch reference dies, on whichever thread") {
  bool released = false;
  std::vector<std::int64_t> memory{1, 2, 3, 4};
  at::Tensor part;
  {
    const std::shared_ptr<const void> keep(memory.data(), [&](const void*) { released = true; });
    part = as_tensor(Tensor::borrow(memory.data(), DType::int64, {2, 2}, keep))[1];
  }
  CHECK_FALSE(released);
  std::thread([last = std::move(part), &released]() mutable {
    CHECK(last.sum().item<std::int64_t>() == 7);
    last.reset();
    CHECK(released);
  }).join();
  CHECK(released);
}

TEST_CASE("scalars and tensors without elements have their shapes") {
  CHECK(as_tensor(Tensor::scalar(3.5)).dim() == 0);
  CHECK(as_tensor(Tensor::scalar(3.5)).item<double>() == 3.5);
  CHECK(as_tensor(Tensor::empty(DType::uint8, {0, 4})).sizes() == at::IntArrayRef({0, 4}));
  CHECK(as_tensor(Tensor::borrow(nullptr, DType::int32, {4, 0})).sizes() ==
        at::IntArrayRef({4, 0}));
  CHECK_THROWS_AS((void)as_tensor(Tensor()), headrace::ConfigError);
}

TEST_CASE("LibTorch takes our DLPack structure and we take theirs") {
  const std::vector<std::int32_t> values{1, 2, 3, 4, 5, 6};
  const Tensor ours = Tensor::of<std::int32_t>(values, {3, 2});
  at::Tensor there = at::fromDLPack(to_dlpack(ours));
  CHECK(there.data_ptr() == ours.raw());
  CHECK(there.sizes() == at::IntArrayRef({3, 2}));
  CHECK((there.scalar_type() == at::kInt));
  CHECK(ours.keep().use_count() == 2);
  there.reset();
  CHECK(ours.keep().use_count() == 1);

  const at::Tensor theirs = at::arange(6, at::kFloat).reshape({2, 3});
  Tensor here = headrace::from_dlpack(at::toDLPack(theirs));
  CHECK(here.raw() == theirs.data_ptr());
  CHECK(here.data<float>()[4] == 4);
  CHECK(theirs.use_count() == 2);
  here = Tensor();
  CHECK(theirs.use_count() == 1);
  DLManagedTensor* transposed = at::toDLPack(theirs.t());
  CHECK_THROWS_AS((void)headrace::from_dlpack(transposed), headrace::ConfigError);
  transposed->deleter(transposed);
}

}  // namespace
