#pragma once

/// The engine in one include. Beside it: batch/batch.h and what it names come along,
/// tensor/dlpack.h, sample/mask.h and torch/as_tensor.h are for those who use them.
#include <headrace/engine/device/device_runtime.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/engine/sample/subset.h>
