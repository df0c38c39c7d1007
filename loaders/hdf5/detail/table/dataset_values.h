#pragma once

#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// All rows of a table's one field, [rows, ...]. Throws ConfigError where it has none or they are
/// of variable length; `name` is for messages.
Tensor all_rows(const Hdf5Table& table, const std::string& name);

/// The same with its axes in the opposite order, as MATLAB wrote it.
Tensor turned(const Tensor& array);

/// Strings, one a row, up to their first NUL and without spaces behind.
std::vector<std::string> texts_of(const Hdf5Table& table);

/// The same of MATLAB's chars, uint16 [rows, chars] in UTF-16, as UTF-8. Throws ConfigError for
/// another array; `name` is for messages.
std::vector<std::string> texts_of_chars(const Tensor& chars, const std::string& name);

}  // namespace headrace::inline v1::detail
