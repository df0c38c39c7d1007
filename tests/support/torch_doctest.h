#pragma once

// doctest for files that use LibTorch, whose c10/util/Logging.h defines macros of the same names.
#include <c10/util/Logging.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_NE
#include <doctest/doctest.h>
