#pragma once

namespace CLI {
class Validator;
}

namespace headrace::inline v1::app {

/// For CLI::Option::check(): a number from `least` to `most`. "nan" is none, which CLI::Range lets
/// through.
CLI::Validator number_range(double least, double most);

}  // namespace headrace::inline v1::app
