#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/detail/dlpack_abi.h>
#include <headrace/engine/tensor/dlpack.h>

#include <array>
#include <cstddef>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::Device;
using headrace::DType;
using headrace::Shape;
using headrace::Tensor;
using headrace::detail::DlTensor;

// Offsets of the C header of DLPack 0.6 on a 64-bit machine.
static_assert(offsetof(DlTensor, device) == 8);
static_assert(offsetof(DlTensor, rank) == 16);
static_assert(offsetof(DlTensor, type) == 20);
static_assert(offsetof(DlTensor, shape) == 24);
static_assert(offsetof(DlTensor, strides) == 32);
static_assert(offsetof(DlTensor, byte_offset) == 40);
static_assert(offsetof(DLManagedTensor, context) == 48);
static_assert(offsetof(DLManagedTensor, deleter) == 56);

/// A tensor of another library that counts the calls of its deleter.
struct Foreign {
  std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  std::array<std::int64_t, 2> shape{2, 3};
  std::array<std::int64_t, 2> strides{3, 1};
  int deleted = 0;
  DLManagedTensor managed{};

  Foreign() {
    managed.tensor = {values.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), nullptr, 0};
    managed.context = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->context)->deleted;
    };
  }
};

TEST_CASE("an exported tensor shows the same memory and keeps it until the consumer is done") {
  bool released = false;
  DLManagedTensor* managed = nullptr;
  float memory[6] = {};
  {
    const std::shared_ptr<const void> keep(memory, [&](const void*) { released = true; });
    managed = to_dlpack(Tensor::borrow(memory, DType::float32, {2, 3}, keep, Device::cuda(1)));
  }
  CHECK(managed->tensor.data == memory);
  CHECK(managed->tensor.rank == 2);
  CHECK(managed->tensor.shape[1] == 3);
  CHECK(managed->tensor.strides[0] == 3);
  CHECK(managed->tensor.strides[1] == 1);
  CHECK(managed->tensor.byte_offset == 0);
  CHECK(managed->tensor.device.type == 2);
  CHECK(managed->tensor.device.index == 1);
  CHECK(managed->tensor.type.code == 2);
  CHECK(managed->tensor.type.bits == 32);
  CHECK_FALSE(released);
  std::thread([&] { managed->deleter(managed); }).join();
  CHECK(released);
}

TEST_CASE("every dtype goes out and comes back") {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const Tensor tensor = Tensor::zeros(static_cast<DType>(i), {2, 1, 3});
    const Tensor back = headrace::from_dlpack(to_dlpack(tensor));
    CHECK(back.dtype() == tensor.dtype());
    CHECK(back.shape() == tensor.shape());
    CHECK(back.raw() == tensor.raw());
    CHECK(tensor.keep().use_count() == 2);
  }
  CHECK(headrace::from_dlpack(to_dlpack(Tensor::scalar(4.0))).item<double>() == 4.0);
}

TEST_CASE("an imported tensor calls the deleter once, with its last handle") {
  Foreign foreign;
  Tensor tensor = headrace::from_dlpack(&foreign.managed);
  CHECK(tensor.raw() == foreign.values.data());
  CHECK(tensor.shape() == Shape{2, 3});
  Tensor row = tensor.row(1);
  tensor = Tensor();
  CHECK(foreign.deleted == 0);
  CHECK(row.data<float>()[0] == 3);
  row = Tensor();
  CHECK(foreign.deleted == 1);
}

TEST_CASE("strides of a packed tensor and a byte offset are understood") {
  Foreign foreign;
  foreign.managed.tensor.strides = foreign.strides.data();
  foreign.managed.tensor.byte_offset = 4;
  foreign.shape = {1, 3};
  foreign.strides = {777, 1};
  CHECK(headrace::from_dlpack(&foreign.managed).data<float>()[0] == 1);
  foreign.managed.deleter = nullptr;
  CHECK(headrace::from_dlpack(&foreign.managed).data<float>()[2] == 3);
}

TEST_CASE("page-locked host memory counts as memory of the CPU") {
  Foreign foreign;
  foreign.managed.tensor.device = {3, 0};
  CHECK(headrace::from_dlpack(&foreign.managed).device() == Device::cpu());
}

TEST_CASE("what cannot be taken is refused and stays with the caller") {
  const auto refused = [](auto change) {
    Foreign foreign;
    foreign.managed.tensor.strides = foreign.strides.data();
    change(foreign);
    CHECK_THROWS_AS((void)headrace::from_dlpack(&foreign.managed), ConfigError);
    CHECK(foreign.deleted == 0);
  };
  refused([](Foreign& f) { f.strides = {1, 2}; });
  refused([](Foreign& f) { f.managed.tensor.type.lanes = 4; });
  refused([](Foreign& f) { f.managed.tensor.type = {5, 64, 1}; });
  refused([](Foreign& f) { f.managed.tensor.device.type = 4; });
  refused([](Foreign& f) { f.shape = {-2, 3}; });
  refused([](Foreign& f) { f.managed.tensor.rank = -1; });
  CHECK_THROWS_AS((void)headrace::from_dlpack(nullptr), ConfigError);
  std::array<std::int64_t, 9> nine{};
  refused([&](Foreign& f) {
    f.managed.tensor.shape = nine.data();
    f.managed.tensor.rank = 9;
  });
}

}  // namespace
