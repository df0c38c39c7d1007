#pragma once

#include <headrace/engine/sample/source.h>

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::test {

/// Rows of contiguous host tensors of one length, a field each: what a pipeline would read of files
/// is there already. Fields are float32, int64 or uint8.
struct NamedRows {
  std::string field;
  at::Tensor rows;
};
std::shared_ptr<const Source> tensor_rows(std::vector<NamedRows> fields);

}  // namespace headrace::test
