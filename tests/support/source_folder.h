#pragma once

#include <string>

namespace headrace::test {

/// The source tree that the tests were built from: an absolute path. A function and no macro, so
/// that the compiler's cache serves every clone.
const std::string& source_folder();

}  // namespace headrace::test
