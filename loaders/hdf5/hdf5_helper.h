#pragma once

#include <headrace/engine/base/export.h>

namespace headrace::inline v1 {

/// The HDF5 library does not bear files made to harm it: some end the process that opens them, or
/// never return. After this call everything that it does with a file that is read (opening and
/// checking it, looking for its chunks, reading what only it can read) is done in a helper: the
/// program headrace-hdf5, one process a file, for as long as it is needed, with limits of processor
/// time and memory. Where the helper ends early, or is ended, that is one DataError with the file
/// and the cause, and the next read begins with a new one. Rows that lie in one piece, or in chunks
/// whose places are known, are read in this process as before.
///
/// Of the whole process, from any thread, for files that are opened afterwards; the programs of
/// headrace do so. A library starts no process unasked.
HEADRACE_API void use_hdf5_helper(bool use = true) noexcept;

}  // namespace headrace::inline v1
