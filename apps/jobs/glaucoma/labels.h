#pragma once

#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <string_view>

namespace headrace::inline v1::app {

/// What the dataset of labels must be, for messages.
inline constexpr std::string_view glaucoma_labels_rule =
    "one-hot [N, 5] of any type, or class numbers 0 to 4 as integers [N] or [N, 1]";

/// Whether rows of such a field can say a class.
bool are_glaucoma_labels(const FieldSpec& labels);

/// The class of a record, of a row that are_glaucoma_labels(): the place of the only 1 among zeros,
/// or the number itself. Throws DataError for any other row.
std::int64_t class_of(const Tensor& label);

}  // namespace headrace::inline v1::app
