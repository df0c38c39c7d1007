#pragma once

#include <headrace/apps/config/document.h>

#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// A configuration for each entry of its list `training.stages`: the document without the list and
/// what is of all stages (training.member, training.checkpoint_every), in which the entry's keys
/// replace those of the section `training`, `augment` and `loss` the lists of these names (keys of
/// a section `loss` are replaced one by one), and `frozen` model.frozen. Empty where there is no
/// list. Throws ConfigError for one that is no list of maps, or an empty one.
std::vector<Node> stage_documents(const Node& document);

/// The document as `train --smoke` takes it: the keys of its section `smoke` replace its own, map
/// by map, and what they say holds in every stage of `training.stages`, too. The section stays
/// where it is: read again, the result is the same. Empty without such a section. Throws
/// ConfigError for one that is no map, and for `kind` and `smoke` in it.
std::optional<Node> smoke_document(const Node& document);

}  // namespace headrace::inline v1::app
