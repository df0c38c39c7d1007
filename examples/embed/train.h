#pragma once

#include <headrace/engine/headrace.h>

namespace embed {

// Trains a small net on the loader's batches (float32 "point" [rows, 2], int64 "label" [rows] of 0
// and 1) and returns the share of `test` that it then gets right.
double train(headrace::Loader& loader, headrace::Loader& test, int epochs);

// Threads that the library behind the net uses: one more thing that must stay as it is.
int net_threads();

}  // namespace embed
