#pragma once

#include <headrace/training/example.h>

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training::detail {

// A mask of an example, and which of its pixels count: to be broadcast, undefined when all do.
struct PixelTargets {
  at::Tensor values = {};
  at::Tensor present = {};
};

// The target of that name, of no name the only one. Pixels that have the value `ignore` and those
// of absent rows do not count. Throws `ConfigError` where there is no such target.
PixelTargets pixel_targets(const Example& example, const std::string& name,
                           std::optional<std::int64_t> ignore);

}  // namespace headrace::inline v1::training::detail
