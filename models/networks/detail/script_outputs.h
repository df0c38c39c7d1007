#pragma once

#include <headrace/models/networks/network.h>

#include <string>

#include <ATen/core/ivalue.h>

namespace headrace::inline v1::models::detail {

/// What a script gave, by the rule of `read_script_network`; `main` is the option.
Output to_output(const c10::IValue& value, const std::string& main, const std::string& who);

}  // namespace headrace::inline v1::models::detail
