#pragma once

/// Everything an embedder of the engine needs in one include.
#include <headrace/engine/loader.h>
#include <headrace/engine/pipeline.h>
