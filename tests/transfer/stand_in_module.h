#pragma once

#include <string>

namespace headrace::test::device {

/// Stands in for a kernel of the device module: what its function does with the task and the
/// stream; 0 for success.
void provide_kernel(const std::string& function, int (*kernel)(const void* task, void* stream));

}  // namespace headrace::test::device
