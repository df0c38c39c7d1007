#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/config/units.h>
#include <headrace/apps/measure/profile/profile_memory.h>
#include <headrace/apps/run/command.h>

#include <CLI/CLI.hpp>

namespace headrace::inline v1::app {
namespace {

void add(CLI::App& line, ProfileMemoryOptions& options) {
  line.add_option("CONFIG", options.config, "Configuration (YAML)")->required();
  add_preset(line, options.preset);
  add_settings(line, options.settings);
  line.add_option("--member,--fold", options.member, "Of this one; else of the first")
      ->check(CLI::NonNegativeNumber);
  line.add_option("--stage", options.stage, "Only this stage, by its name or its number from 1");
  line.add_option("--batch-size", options.batch, "In place of training.batch")
      ->check(CLI::PositiveNumber);
  line.add_flag("--find-optimal", options.find_optimal,
                "Find the largest batch that fits and the fastest one, and try them with 50 steps");
  line.add_flag("!--no-switches", options.switches, "Leave out what switches would change");
  const auto read_card = [&options](const std::string& text) {
    const std::optional<Bytes> card = parse_bytes(text);
    if (!card || card->value == 0)
      throw CLI::ValidationError("--card", "must be a size such as 16GiB, got " + text);
    options.card = card->value;
  };
  line.add_option_function<std::string>("--card", read_card,
                                        "Say whether a card of so much memory is enough: 16GiB");
  line.add_option("--json", options.json, "Write everything measured to this file");
  // How it starts itself.
  line.add_option("--measure", options.measure)->group("");
  line.add_option("--rows", options.rows)->delimiter(',')->group("");
  line.add_option("--parent", options.parent)->group("");
  line.add_option("--limit", options.limit)->group("");
  line.add_option("--steps", options.steps)->check(CLI::PositiveNumber)->group("");
}

}  // namespace

Command profile_memory_command() {
  return make_torch_command<ProfileMemoryOptions>(
      "profile-memory", "Measure what training takes in memory, and what would fit", add,
      profile_memory);
}

}  // namespace headrace::inline v1::app
