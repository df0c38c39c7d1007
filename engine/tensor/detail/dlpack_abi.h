#pragma once

#include <cstdint>

/// The memory layout of DLPack's unversioned structures (github.com/dmlc/dlpack, version 0.x).
/// Names of ours but for the root, which dlpack.h names; never included by a public header.
namespace headrace::inline v1::detail {

struct DlDevice {
  std::int32_t type;  ///< 1: CPU, 2: CUDA, 3: page-locked host
  std::int32_t index;
};

struct DlType {
  std::uint8_t code;  ///< 0: int, 1: unsigned, 2: float, 4: bfloat, 6: bool
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: packed row-major
  std::uint64_t byte_offset;
};

}  // namespace headrace::inline v1::detail

struct DLManagedTensor {
  headrace::detail::DlTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);  ///< null: nothing to free
};

static_assert(sizeof(void*) != 8 || sizeof(DLManagedTensor) == 64);
