#pragma once

#include <headrace/apps/config/fields.h>

#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Keys as a Markdown table, a row each: name, default, range with unit, meaning. `heading` is that
/// of the names; sections are left out. Empty where no key has a value.
std::string key_table(const std::vector<KeyDoc>& keys, std::string_view heading);

}  // namespace headrace::inline v1::app
