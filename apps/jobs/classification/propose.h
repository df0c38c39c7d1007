#pragma once

#include <headrace/apps/jobs/proposal.h>

namespace headrace::inline v1::app {

/// A configuration for these data on this machine, and why.
Proposal propose_classification(const DataFacts& facts);

}  // namespace headrace::inline v1::app
