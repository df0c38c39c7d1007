#pragma once

#include <headrace/apps/config/document.h>

#include <optional>

namespace headrace::inline v1::app {

/// The document as `train --smoke` takes it: the keys of its section `smoke` replace its own, map
/// by map, and what they say holds in every stage of `training.stages`, too. The section stays
/// where it is: read again, the result is the same. Empty without such a section. Throws
/// ConfigError for one that is no map, and for `kind` and `smoke` in it.
std::optional<Node> smoke_document(const Node& document);

}  // namespace headrace::inline v1::app
