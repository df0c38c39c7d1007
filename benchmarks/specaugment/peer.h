#pragma once

#include <cstdio>
#include <string>

namespace headrace::inline v1::bench {

/// A program of another world that does one call of its work for each line it is sent.
class Peer {
 public:
  /// Starts `python script`; empty when `python` is.
  Peer(const std::string& python, const std::string& script);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool there() const { return to_ != nullptr; }
  /// Sends a line and waits for the answer; ends the program when there is none.
  std::string ask(const std::string& line);

 private:
  int child_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace headrace::inline v1::bench
