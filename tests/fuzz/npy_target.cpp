// An array file of any content gives the rows that its bytes are, in the machine's byte order, or a
// DataError.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace headrace;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Tensor& tensor) {
  const auto* first = static_cast<const std::byte*>(tensor.raw());
  return {first, first + tensor.bytes()};
}

Bytes reversed(Bytes bytes, std::size_t value_bytes) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(value_bytes))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(value_bytes));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const test::MemoryFile file(input);
  try {
    const NpyFile array(file.name());
    const std::int64_t count = array.shape()[0];
    array.shape().row().elements();  // throws where it cannot be counted
    const Bytes rows = bytes_of(array.rows(0, count));
    if (rows.size() > size) test::finding("an array has more bytes than its file");
    const auto tail = input.last(rows.size());
    const Bytes stored(tail.begin(), tail.end());
    if (rows != stored && rows != reversed(stored, size_of(array.dtype())))
      test::finding("rows are not the file's bytes");
    if (count == 0) return 0;
    const Bytes last = bytes_of(array.rows(count - 1, 1));
    if (!std::equal(last.rbegin(), last.rend(), rows.rbegin()))
      test::finding("the last row differs from that among all");
  } catch (const DataError&) {
  }
  return 0;
}
