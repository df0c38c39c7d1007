// An IDX file of any content, plain or gzip, gives its elements in the machine's byte order, the
// same again, or a DataError; a ResourceError where it is larger than was allowed.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

using namespace headrace;

namespace {

constexpr std::size_t most_bytes = 1 << 20;

struct Array {
  DType dtype{};
  Shape shape;
  std::vector<std::byte> bytes{};
  bool operator==(const Array&) const = default;
};

std::optional<Array> read(const std::string& name) {
  try {
    const Tensor tensor = read_idx(name, most_bytes);
    tensor.shape().row().elements();  // throws where it cannot be counted
    const auto* first = static_cast<const std::byte*>(tensor.raw());
    return Array{tensor.dtype(), tensor.shape(), {first, first + tensor.bytes()}};
  } catch (const DataError&) {
  } catch (const ResourceError&) {
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const test::MemoryFile file(input);
  const std::optional<Array> first = read(file.name());
  if (read(file.name()) != first) test::finding("an array differs the second time");
  const bool packed = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
  if (!first || packed) return 0;
  if (first->bytes.size() > size) test::finding("an array has more bytes than its file");
  const auto tail = input.last(first->bytes.size());
  std::vector<std::byte> stored(tail.begin(), tail.end());
  const auto value_bytes = static_cast<std::ptrdiff_t>(size_of(first->dtype));
  for (auto at = stored.begin(); at != stored.end(); at += value_bytes)
    std::reverse(at, at + value_bytes);
  if (stored != first->bytes) test::finding("elements are not the file's bytes");
  return 0;
}
