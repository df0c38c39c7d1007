#pragma once

/// Everything an embedder of the engine needs in one include.
#include <headrace/engine/device/device_runtime.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/engine/sample/subset.h>
