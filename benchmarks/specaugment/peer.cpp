#include <headrace/benchmarks/specaugment/peer.h>

#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace headrace::inline v1::bench {

Peer::Peer(const std::string& python, const std::string& script) {
  if (python.empty()) return;
  int there[2];
  int back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) std::exit(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, there[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, back[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, there[1]);
  posix_spawn_file_actions_addclose(&actions, back[0]);
  std::string words[] = {python, script};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  const int failed = ::posix_spawnp(&child_, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(there[0]);
  ::close(back[1]);
  if (failed != 0) {
    std::fprintf(stderr, "%s cannot be started\n", python.c_str());
    std::exit(1);
  }
  to_ = ::fdopen(there[1], "w");
  from_ = ::fdopen(back[0], "r");
}

Peer::~Peer() {
  if (to_ == nullptr) return;
  std::fclose(to_);
  std::fclose(from_);
  ::waitpid(child_, nullptr, 0);
}

std::string Peer::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  char answer[256];
  if (std::fgets(answer, sizeof answer, from_) == nullptr) {
    std::fprintf(stderr, "the peer gave up at \"%s\"\n", line.c_str());
    std::exit(1);
  }
  return answer;
}

}  // namespace headrace::inline v1::bench
