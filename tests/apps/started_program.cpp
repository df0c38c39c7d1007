#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

// Kept in the binary as it is: by it scripts/bundle sees that the tests run only where they were
// built.
[[gnu::used, gnu::retain]] const char headrace_path[] = HEADRACE_PROGRAM;

[[noreturn]] void become(const fs::path& program, const std::vector<char*>& words,
                         const StartOptions& options, int out, int err) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (::chdir(options.folder.c_str()) != 0) ::_exit(126);
  if (options.data_limit > 0) {
    const rlimit limit{options.data_limit, options.data_limit};
    if (::setrlimit(RLIMIT_DATA, &limit) != 0) ::_exit(126);
  }
  ::execv(program.c_str(), words.data());
  ::_exit(127);
}

int open_for_output(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), file.string());
  return descriptor;
}

}  // namespace

StartedProgram::StartedProgram(const fs::path& program, const std::vector<std::string>& arguments,
                               const StartOptions& options)
    : out_(options.folder / "stdout.txt"), err_(options.folder / "stderr.txt") {
  const std::string name = program.string();
  std::vector<char*> words{const_cast<char*>(name.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const int out = open_for_output(out_);
  const int err = open_for_output(err_);
  pid_ = ::fork();
  if (pid_ == 0) become(program, words, options, out, err);
  ::close(out);
  ::close(err);
  if (pid_ < 0) throw std::runtime_error("no process for " + name);
}

StartedProgram::~StartedProgram() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int StartedProgram::wait() {
  if (status_ >= 0) return status_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

void StartedProgram::signal(int number) const {
  ::kill(pid_, number);
}

bool StartedProgram::running() {
  if (status_ >= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

bool StartedProgram::wait_until(const std::function<bool()>& condition) {
  for (;;) {
    const bool alive = running();
    if (condition()) return true;
    if (!alive) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string StartedProgram::out() const {
  return content_of(out_);
}
std::string StartedProgram::err() const {
  return content_of(err_);
}

Finished run_program(const fs::path& program, const std::vector<std::string>& arguments,
                     const StartOptions& options) {
  StartedProgram started(program, arguments, options);
  const int status = started.wait();
  return {.status = status, .out = started.out(), .err = started.err()};
}

const std::string& headrace_program() {
  static const std::string program = headrace_path;
  return program;
}
#ifdef HEADRACE_LEAKING_PROGRAM
const std::string& leaking_program() {
  static const std::string program = HEADRACE_LEAKING_PROGRAM;
  return program;
}
const std::string& voting_program() {
  static const std::string program = HEADRACE_VOTING_PROGRAM;
  return program;
}
#endif

Finished run_headrace(const fs::path& folder, const std::vector<std::string>& words) {
  return run_program(headrace_program(), words, {.folder = folder});
}

}  // namespace headrace::test
