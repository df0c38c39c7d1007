#include <headrace/benchmarks/harness/options.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace headrace::inline v1::bench {

Options::Options(std::string program, std::string question)
    : program_(std::move(program)), question_(std::move(question)) {}

Options& Options::add(std::string name, std::string fallback, std::string help) {
  options_.push_back({std::move(name), std::move(fallback), std::move(help)});
  return *this;
}

void Options::print_help() const {
  std::printf("%s: %s\n\n", program_.c_str(), question_.c_str());
  for (const Option& option : options_) {
    std::printf("  --%-14s %s [%s]\n", option.name.c_str(), option.help.c_str(),
                option.value.c_str());
  }
}

void Options::refuse(const std::string& why) const {
  std::fprintf(stderr, "%s: %s; see --help\n", program_.c_str(), why.c_str());
  std::exit(2);
}

void Options::parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    }
    const auto option = std::ranges::find_if(
        options_, [&](const Option& each) { return word == "--" + each.name; });
    if (option == options_.end()) refuse("\"" + word + "\" is no option");
    if (++i == argc) refuse(word + " needs a value");
    option->value = argv[i];
  }
}

const std::string& Options::text(const std::string& name) const {
  const auto option = std::ranges::find(options_, name, &Option::name);
  if (option == options_.end()) std::abort();
  return option->value;
}

std::vector<double> Options::list(const std::string& name) const {
  std::vector<double> values;
  std::istringstream words(text(name));
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    values.push_back(std::strtod(word.c_str(), &end));
    if (word.empty() || *end != '\0') refuse("--" + name + " takes numbers, got \"" + word + "\"");
  }
  if (values.empty()) refuse("--" + name + " needs a number");
  return values;
}

double Options::real(const std::string& name) const {
  return list(name).front();
}

}  // namespace headrace::inline v1::bench
