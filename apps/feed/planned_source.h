#pragma once

#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace headrace::inline v1::app {

/// A source that can be planned with before it takes memory.
struct PlannedSource {
  /// Same fields and size as what open() gives, but nothing of the data is in memory.
  std::shared_ptr<const Source> outline;
  std::size_t resident_bytes = 0;  ///< what open() will keep in memory beyond the outline
  std::function<std::shared_ptr<const Source>()> open;
};

}  // namespace headrace::inline v1::app
