#pragma once

#include <exception>
#include <string>

namespace headrace::inline v1::models::detail {

/// What LibTorch has thrown as one line: without C++ backtrace, TorchScript's listing of the source
/// and advice of its zip reader, at most 300 bytes.
std::string short_message(const std::exception& error);

}  // namespace headrace::inline v1::models::detail
