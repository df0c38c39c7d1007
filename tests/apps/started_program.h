#pragma once

#include <headrace/tests/apps/text_checks.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace headrace::test {

/// How a program under test is started.
struct StartOptions {
  std::filesystem::path folder;  ///< Working directory; its output and errors go to files in it.
  std::size_t data_limit = 0;    ///< RLIMIT_DATA in bytes; 0: none.
};

/// A program under test. Ends with the object.
class StartedProgram {
 public:
  StartedProgram(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const StartOptions& options);
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;
  ~StartedProgram();

  /// Waits for the end: the exit status, or 128 + n after signal n.
  int wait();
  void signal(int number) const;
  /// Waits until the condition holds; false when the program ended before.
  bool wait_until(const std::function<bool()>& condition);
  bool running();
  pid_t pid() const { return pid_; }

  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t pid_ = -1;
  int status_ = -1;
};

/// What a program that ran to its end said.
struct Finished {
  int status = 0;
  std::string out;
  std::string err;
};

Finished run_program(const std::filesystem::path& program,
                     const std::vector<std::string>& arguments, const StartOptions& options);

/// The program `headrace` of this build, and two that train a job of the tests; absolute paths.
const std::string& headrace_program();
const std::string& leaking_program();
const std::string& voting_program();

/// The program `headrace`, in that folder.
Finished run_headrace(const std::filesystem::path& folder, const std::vector<std::string>& words);

}  // namespace headrace::test
