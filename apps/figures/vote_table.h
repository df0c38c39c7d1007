#pragma once

#include <headrace/apps/figures/fold_outcome.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// "all together, soft" for a way of voting of that name; "all together" for the only one, which
/// has none.
std::string vote_member(const std::string& name);

/// The name of the way, of an outcome that is called so; may be empty.
std::string vote_name(const FoldOutcome& vote);

/// Several ways of voting, each in a line with its figures of the test: that which selects, then
/// accuracy, quadratic weighted kappa, macro F1 and others, as many as 100 columns have room for.
/// No line end at the end.
std::string vote_table(const std::vector<FoldOutcome>& votes);

}  // namespace headrace::inline v1::app
