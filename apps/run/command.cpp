#include <headrace/apps/run/command.h>
#include <headrace/engine/runtime/runtime.h>

#include <CLI/CLI.hpp>

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

}  // namespace headrace::inline v1::app
