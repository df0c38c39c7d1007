#pragma once

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace headrace::test {

/// What is written at one end is read at the other.
struct Ends {
  int write = -1;
  int read = -1;
  ~Ends() {
    close(write);
    close(read);
  }
  // A pseudo-terminal hands on what was written a little later.
  std::string drain() const {
    std::string text;
    char block[4096];
    pollfd ready{.fd = read, .events = POLLIN, .revents = 0};
    poll(&ready, 1, 20);
    for (ssize_t n = 0; (n = ::read(read, block, sizeof block)) > 0;)
      text.append(block, static_cast<std::size_t>(n));
    return text;
  }
};

inline Ends make_pipe() {
  int ends[2] = {-1, -1};
  REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
  return {ends[1], ends[0]};
}

/// A pseudo-terminal of that width.
inline Ends make_terminal(unsigned short columns) {
  int main = -1;
  int user = -1;
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(openpty(&main, &user, nullptr, nullptr, &size) == 0);
  REQUIRE(fcntl(main, F_SETFL, O_NONBLOCK) == 0);
  return {user, main};
}

/// A variable of the environment, as it is for the length of a block; null: not there.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      old_ = old;
    }
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Environment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

}  // namespace headrace::test
