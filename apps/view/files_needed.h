#pragma once

#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/job/job.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// Files that a training has open at once, from above, beside those that are open when its program
/// begins: what its data keep open (of volumes two a case), what its threads read, what the run
/// writes, and with `on_gpu` what a driver opens. Lists folders of volumes, opens no data; a folder
/// that cannot be listed counts as empty: who opens it says why.
std::uint64_t files_needed(const JobConfig& config, bool on_gpu);

/// The same of a loader alone.
std::uint64_t files_needed(const LoaderJob& job);

/// Bytes of a loader's slabs, which are page-locked where batches are delivered to a GPU.
std::uint64_t slab_bytes(const Loader& loader);

}  // namespace headrace::inline v1::app
