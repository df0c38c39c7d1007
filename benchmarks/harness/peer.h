#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// Another program that does a piece of its work for each line that it is sent, and answers with a
/// line: a contender that needs a process or a language of its own, in turn with ours.
class Peer {
 public:
  /// Starts a command: a program, looked for on PATH, and its arguments. From then on this process
  /// ignores SIGPIPE. Throws `ResourceError` where it cannot be started.
  explicit Peer(std::vector<std::string> command);
  /// Waits until it has ended, which the end of its input tells it to.
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends a line and waits for the answer. Throws `ResourceError` when there is none.
  std::string ask(const std::string& line);

 private:
  std::string name_;
  int child_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace headrace::inline v1::bench
