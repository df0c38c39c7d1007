#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/run_facts.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::monitor {

/// Bytes unpacked from chunks over a window, and what of them was used.
struct ChunkBytes {
  double unpacked = 0.0;
  double used = 0.0;
};

/// Facts of patches that are cut anywhere out of volumes in chunks; extents along z, y, x. Proposes
/// chunks of about a quarter of the patch along each axis, and what a patch alone, without a cache,
/// unpacks then.
HEADRACE_API ReadFacts patch_reads(const ChunkBytes& bytes,
                                   const std::array<std::int64_t, 3>& chunk,
                                   const std::array<std::int64_t, 3>& patch);

/// Facts of rows that are read in any order out of chunks of so many rows. Proposes a dataset in
/// one piece.
HEADRACE_API ReadFacts row_reads(const ChunkBytes& bytes, std::int64_t chunk_rows);

}  // namespace headrace::inline v1::monitor
