#pragma once

#include <headrace/loaders/image/detail/list/listing_cache.h>

#include <vector>

namespace headrace::inline v1::detail {

/// Holds a kept listing against what it was made from, which must be unchanged: tables of one
/// length; paths that stay below their root; of folders, every file in one that was listed, and its
/// label that of its class folder. Throws UnusableListing.
void check_listing(const ImageListing& listing, const std::vector<ListingProof>& proofs);

}  // namespace headrace::inline v1::detail
