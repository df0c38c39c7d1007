#include <headrace/apps/commands/unknown_command.h>
#include <headrace/engine/base/nearest.h>

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& group) {
  return group.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(group))
    names.push_back(command->get_name());
  return names;
}

// "train", or "pack table" where only a group below has one that is near.
std::optional<std::string> nearest_command(const CLI::App& group, const std::string& word) {
  if (auto name = nearest_name(word, names_of(group))) return name;
  for (const CLI::App* command : commands_of(group)) {
    if (const auto name = nearest_command(*command, word)) return command->get_name() + " " + *name;
  }
  return std::nullopt;
}

std::string message(const CLI::App& group, const std::string& path, const std::string& word) {
  const auto meant = nearest_command(group, word);
  return fmt::format("[command line] {} must be followed by one of {}, got \"{}\"; {}", path,
                     fmt::join(names_of(group), ", "), word,
                     meant ? fmt::format("did you mean {} {}?", path, *meant)
                           : fmt::format("see {} --help", path));
}

}  // namespace

std::optional<std::string> unknown_command(const CLI::App& program) {
  std::string path = program.get_name();
  for (const CLI::App* group = &program; !commands_of(*group).empty();) {
    const std::vector<std::string> left = group->remaining();
    // What follows an unknown option may be its value.
    if (!left.empty() && !left.front().starts_with('-')) return message(*group, path, left.front());
    const std::vector<CLI::App*> parsed = group->get_subcommands();
    if (parsed.empty()) break;
    group = parsed.front();
    path += " " + group->get_name();
  }
  return std::nullopt;
}

}  // namespace headrace::inline v1::app
