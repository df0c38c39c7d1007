#pragma once

#include <headrace/apps/new/proposal.h>

#include <optional>

namespace headrace::inline v1::app {

/// A configuration for these data on this machine, and why.
Proposal propose_segmentation(const DataFacts& facts);

/// A configuration as nnU-Net would plan it for volumes in its raw layout, and why; nothing for
/// another folder. Looks at every voxel once. Throws what plan_nnunet_data() throws, and
/// ConfigError for images of one slice and for regions.
std::optional<Proposal> propose_volumes(const FolderQuestion& question);

}  // namespace headrace::inline v1::app
