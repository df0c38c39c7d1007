#pragma once

namespace headrace::inline v1 {

/// How a loader describes its graph.
enum class GraphFormat : unsigned char { text, graphviz };

}  // namespace headrace::inline v1
