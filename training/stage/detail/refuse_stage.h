#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/training/stage/stage.h>

#include <string>

namespace headrace::inline v1::training::detail {

[[noreturn]] inline void refuse(const Stage& stage, const std::string& rule) {
  throw ConfigError("[stage " + stage.name + "] " + rule);
}

}  // namespace headrace::inline v1::training::detail
