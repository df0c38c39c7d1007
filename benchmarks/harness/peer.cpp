#include <headrace/benchmarks/harness/peer.h>
#include <headrace/engine/base/error.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace headrace::inline v1::bench {

Peer::Peer(std::vector<std::string> command) : name_(command.front()) {
  std::signal(SIGPIPE, SIG_IGN);
  int there[2];
  int back[2];
  if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0)
    throw ResourceError(std::string("[peer] needs two pipes, got: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, there[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, back[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed =
      ::posix_spawnp(&child_, name_.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(there[0]);
  ::close(back[1]);
  if (failed != 0) {
    ::close(there[1]);
    ::close(back[0]);
    throw ResourceError("[peer] " + name_ + " cannot be started: " + std::strerror(failed));
  }
  to_ = ::fdopen(there[1], "w");
  from_ = ::fdopen(back[0], "r");
}

Peer::~Peer() {
  std::fclose(to_);
  std::fclose(from_);
  ::waitpid(child_, nullptr, 0);
}

std::string Peer::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  char* text = nullptr;
  std::size_t room = 0;
  const auto length = ::getline(&text, &room, from_);
  std::string answer(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  std::free(text);
  if (length <= 0)
    throw ResourceError("[peer] " + name_ + " ended when it was asked for \"" + line + '"');
  if (answer.ends_with('\n')) answer.pop_back();
  return answer;
}

}  // namespace headrace::inline v1::bench
