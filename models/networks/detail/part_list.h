#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

namespace headrace::inline v1::models::detail {

/// Modules named "0", "1", ...
template <typename Part>
struct PartList : torch::nn::Module {
  void add(std::shared_ptr<Part> part) {
    parts.push_back(register_module(std::to_string(parts.size()), std::move(part)));
  }

  std::vector<std::shared_ptr<Part>> parts;
};

}  // namespace headrace::inline v1::models::detail
