#include <headrace/apps/run/command.h>
#include <headrace/engine/runtime/runtime.h>

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {

void add_settings(CLI::App& line, std::vector<std::string>& settings) {
  line.add_option("--set", settings,
                  "Set a key of the configuration: a.b=c (repeatable, later wins)")
      ->take_all()
      ->allow_extra_args(false);
}

void add_preset(CLI::App& line, std::string& preset) {
  line.add_option("--preset", preset,
                  "Set keys by how much of the machine a run may take, or by its card: headrace "
                  "config presets lists them (--set wins)");
}

void add_threads(CLI::App& line, int& threads) {
  line.add_option("--threads", threads, "Threads; 0: usable cores")->check(CLI::NonNegativeNumber);
}

int threads_of(int wanted) {
  return wanted > 0 ? wanted : usable_cores();
}

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
