#include <headrace/engine/tensor/dtype.h>

#include <array>

namespace headrace::inline v1 {

namespace {

struct Entry {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Entry, 13> entries{{{"uint8", 1},
                                         {"int8", 1},
                                         {"uint16", 2},
                                         {"int16", 2},
                                         {"uint32", 4},
                                         {"int32", 4},
                                         {"uint64", 8},
                                         {"int64", 8},
                                         {"float16", 2},
                                         {"bfloat16", 2},
                                         {"float32", 4},
                                         {"float64", 8},
                                         {"boolean", 1}}};

constexpr Entry entry(DType dtype) noexcept {
  const auto i = static_cast<std::size_t>(dtype);
  return i < entries.size() ? entries[i] : Entry{"unknown", 0};
}

}  // namespace

std::size_t size_of(DType dtype) noexcept {
  return entry(dtype).bytes;
}

std::string_view name_of(DType dtype) noexcept {
  return entry(dtype).name;
}

}  // namespace headrace::inline v1
