#include <headrace/apps/run/child_process.h>
#include <headrace/engine/base/error.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace headrace::inline v1::app {
namespace {

struct SpawnActions {
  posix_spawn_file_actions_t value;
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

// Until it has ended and before it is asked about: its number is nobody else's meanwhile.
std::string output_of(pid_t child, int descriptor, const std::stop_token& stop) {
  const std::stop_callback end(stop, [child] { ::kill(child, SIGKILL); });
  std::string output = read_all(descriptor);
  siginfo_t ended;
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  return output;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments,
                      const std::filesystem::path& folder, const std::stop_token& stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw ResourceError(std::string("[run ") + arguments.front() +
                        "] no pipe: " + std::strerror(errno));
  }
  SpawnActions actions;
  posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDERR_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str());

  std::vector<char*> words;
  for (const std::string& word : arguments)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, words.front(), &actions.value, nullptr, words.data(), environ);
  ::close(ends[1]);
  ChildResult result;
  if (failed != 0) {
    result = {.status = 127, .output = std::strerror(failed)};
  } else {
    result.output = output_of(child, ends[0], stop);
    result.status = wait_for(child);
  }
  ::close(ends[0]);
  return result;
}

}  // namespace headrace::inline v1::app
