#pragma once

#include <headrace/engine/base/random.h>

namespace headrace::inline v1::detail {

/// A draw from Beta(alpha, alpha), alpha > 0: of two gamma variates (Marsaglia, Tsang: "A Simple
/// Method for Generating Gamma Variables", ACM TOMS 2000). The same on every machine.
double draw_beta(double alpha, Random& random);

}  // namespace headrace::inline v1::detail
