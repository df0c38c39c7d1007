#pragma once

// doctest for files that use LibTorch, whose c10/util/Logging.h defines macros of the same names.
#ifndef DOCTEST_LIBRARY_INCLUDED  // else a file compiled with this one has them already
#include <c10/util/Logging.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_NE
#include <doctest/doctest.h>
#endif
