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

Options& Options::add_json() {
  return add("json", "", "file for the figures, written as each section ends");
}

Options& Options::add_flag(std::string name, std::string help) {
  options_.push_back({std::move(name), "", std::move(help), true});
  return *this;
}

Options& Options::take_words(std::vector<std::string> names) {
  words_ = std::move(names);
  return *this;
}

Options::Option* Options::find(const std::string& name) {
  const auto option = std::ranges::find(options_, name, &Option::name);
  return option == options_.end() ? nullptr : &*option;
}

void Options::print_help() const {
  std::printf("%s: %s\n\n", program_.c_str(), question_.c_str());
  for (const Option& option : options_) {
    std::printf("  --%-14s %s", option.name.c_str(), option.help.c_str());
    std::printf(option.flag ? "\n" : " [%s]\n", option.value.c_str());
  }
  if (words_.empty()) return;
  std::printf("\nwithout names, in this order:");
  for (const std::string& word : words_)
    std::printf(" %s", word.c_str());
  std::printf("\n");
}

void Options::refuse(const std::string& why) const {
  std::fprintf(stderr, "%s: %s; see --help\n", program_.c_str(), why.c_str());
  std::exit(2);
}

void Options::parse(int argc, char** argv) {
  auto next_word = words_.begin();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    }
    if (!word.starts_with("--")) {
      if (next_word == words_.end()) refuse("\"" + word + "\" is no option");
      find(*next_word++)->value = word;
      continue;
    }
    Option* option = find(word.substr(2));
    if (option == nullptr) refuse("\"" + word + "\" is no option");
    if (option->flag) {
      option->value = "yes";
      continue;
    }
    if (++i == argc) refuse(word + " needs a value");
    option->value = argv[i];
  }
}

bool Options::asks_for(const std::string& name, const std::string& word) const {
  return text(name) == "all" || text(name) == word;
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
