#pragma once

#include <headrace/engine/plan/recipe.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// Source, order and steps on samples are replaced by `samples` samples of nothing with the fields
/// that the last of these steps leaves. Throws what the steps' schemas throw.
void replace_by_placeholders(Recipe& recipe, std::int64_t samples);

}  // namespace headrace::inline v1::detail
