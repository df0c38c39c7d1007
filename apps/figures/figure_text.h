#pragma once

#include <string>

namespace headrace::inline v1::app {

/// "macro f1" of "macro_f1".
std::string figure_words(std::string name);

/// "0.8312"; a whole number, a count say, without decimals.
std::string figure_text(double value);

}  // namespace headrace::inline v1::app
