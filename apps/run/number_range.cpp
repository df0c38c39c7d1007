#include <headrace/apps/run/number_range.h>

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {

CLI::Validator number_range(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    double number = 0.0;
    const bool is_number = CLI::detail::lexical_cast(text, number);
    // No comparison with "nan" is true.
    return is_number && number >= least && number <= most
               ? std::string()
               : fmt::format("must be from {} to {}, got {}", least, most, text);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", least, most)};
}

}  // namespace headrace::inline v1::app
