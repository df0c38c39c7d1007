#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// The `--name value` arguments of a benchmark; --help is made from the same list.
class Options {
 public:
  /// `question`: what the benchmark answers, the first line of the help.
  Options(std::string program, std::string question);

  Options& add(std::string name, std::string fallback, std::string help);
  /// --json FILE, for Report.
  Options& add_json();
  /// An option that takes no value: text() is "yes" where it was given, else empty.
  Options& add_flag(std::string name, std::string help);
  /// Words without a name in front give these options their values, in this order.
  Options& take_words(std::vector<std::string> names);
  /// --help prints and ends the program with 0; a name that was not added, or one without a value,
  /// with 2.
  void parse(int argc, char** argv);

  const std::string& text(const std::string& name) const;
  bool is_set(const std::string& name) const { return !text(name).empty(); }
  /// Whether option `name` is `word` or "all".
  bool asks_for(const std::string& name, const std::string& word) const;
  /// Ends the program with 2 where the value is no number.
  double real(const std::string& name) const;
  int number(const std::string& name) const { return static_cast<int>(real(name)); }
  /// "1,2,4".
  std::vector<double> list(const std::string& name) const;

 private:
  struct Option {
    std::string name;
    std::string value;
    std::string help;
    bool flag = false;
  };
  Option* find(const std::string& name);
  void print_help() const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string program_;
  std::string question_;
  std::vector<Option> options_;
  std::vector<std::string> words_;
};

}  // namespace headrace::inline v1::bench
