#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/loaders/hdf5/detail/helper_process.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

extern char** environ;

namespace headrace::inline v1::detail {
namespace {

using std::chrono::milliseconds;

constexpr auto longest_silence = std::chrono::minutes(2);
constexpr const char* program_file = "headrace-hdf5";

[[noreturn]] void no_process(int error) {
  throw ResourceError(std::string("[hdf5] a helper process for the HDF5 library is needed, the "
                                  "system gave none (") +
                      std::strerror(error) + "); raise the limits of processes and files");
}

std::filesystem::path program() {
  const std::filesystem::path found = find_module(program_file);
  if (!found.empty()) return found;
  throw ConfigError(std::string("[hdf5] the program ") + program_file +
                    " must lie beside the modules of headrace (lib/headrace), got none; install "
                    "it, or do not ask for a helper process");
}

/// A process of its own group: what is typed at the terminal is not for it.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
  }
  ~Spawn() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  /// The new process has that descriptor, under the same number.
  void keep(int descriptor) { posix_spawn_file_actions_adddup2(&actions_, descriptor, descriptor); }

  pid_t run(const std::filesystem::path& file, const std::vector<std::string>& arguments) {
    std::vector<char*> words;
    for (const std::string& word : arguments)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t process = -1;
    const int error =
        ::posix_spawn(&process, file.c_str(), &actions_, &attributes_, words.data(), environ);
    if (error != 0) no_process(error);
    return process;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string text_of(const std::vector<std::byte>& answer) {
  return {reinterpret_cast<const char*>(answer.data()), answer.size()};
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace

/// How long a call is waited for: its processor time, whatever the machine's load, and an end to
/// waiting for what does not run at all.
class HelperProcess::Patience {
 public:
  Patience(pid_t process, milliseconds cpu) : cpu_(cpu) {
    known_ = ::clock_getcpuclockid(process, &clock_) == 0;
    first_ = last_ = used();
  }

  /// Why it is at its end; empty: it is not.
  std::string ended() {
    const milliseconds now = used();
    if (now - first_ > cpu_)
      return "had not answered after " + std::to_string(cpu_.count()) + " ms of processor time";
    if (std::exchange(last_, now) != now) since_ = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - since_ < longest_silence) return {};
    return "did nothing for two minutes";
  }

 private:
  milliseconds used() const {
    timespec time{};
    if (!known_ || ::clock_gettime(clock_, &time) != 0) return last_;
    return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(time.tv_sec) +
                                                    std::chrono::nanoseconds(time.tv_nsec));
  }

  clockid_t clock_{};
  bool known_ = false;
  milliseconds cpu_, first_{}, last_{};
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

HelperProcess::HelperProcess(int data, int window) {
  const std::filesystem::path file = program();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) no_process(errno);
  socket_.emplace(ends[0]);
  const FileDescriptor other(ends[1]);
  Spawn spawn;
  std::vector<std::string> arguments{program_file};
  for (const int each : {other.number(), data, window}) {
    spawn.keep(each);
    arguments.push_back(std::to_string(each));
  }
  process_ = spawn.run(file, arguments);
}

HelperProcess::~HelperProcess() {
  end();
}

/// Ends it and says how it ended.
std::string HelperProcess::end() noexcept {
  if (process_ < 0) return {};
  socket_.reset();
  ::kill(process_, SIGKILL);
  int status = 0;
  pid_t ended = -1;
  while ((ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (ended < 0) return "ended";  // a program that lets the system collect its children
  if (WIFSIGNALED(status)) return "ended by " + signal_name(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

void HelperProcess::give_up(const std::string& why) {
  const std::string ended = end();
  throw HelperEnded(why.empty() ? ended : why);
}

void HelperProcess::send(const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket_->number(), at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) give_up({});
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void HelperProcess::wait_for_answer(Patience& patience) {
  constexpr int tick_ms = 50;
  pollfd wanted{.fd = socket_->number(), .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, tick_ms);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) give_up(std::strerror(errno));
    if (const std::string why = patience.ended(); !why.empty()) give_up(why);
  }
}

void HelperProcess::receive(void* to, std::size_t bytes, Patience& patience) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    wait_for_answer(patience);
    const ssize_t got = ::recv(socket_->number(), at, bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) give_up({});
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

std::vector<std::byte> HelperProcess::ask(HelperCall call, const std::vector<std::byte>& message,
                                          const HelperLimits& limits) {
  if (process_ < 0) throw HelperEnded("has ended before");
  const HelperHeader question{.kind = static_cast<std::uint32_t>(call),
                              .cpu_ms = static_cast<std::uint32_t>(limits.cpu.count()),
                              .memory = limits.memory,
                              .bytes = message.size()};
  Patience patience(process_, limits.cpu);
  send(&question, sizeof question);
  send(message.data(), message.size());
  HelperHeader header;
  receive(&header, sizeof header, patience);
  // Memory is taken as bytes come, not as they are announced.
  std::vector<std::byte> answer;
  while (answer.size() < header.bytes) {
    const std::size_t had = answer.size();
    answer.resize(had + std::min<std::uint64_t>(header.bytes - had, 1 << 20));
    receive(answer.data() + had, answer.size() - had, patience);
  }
  const std::string text(reinterpret_cast<const char*>(answer.data()), answer.size());
  switch (static_cast<HelperAnswer>(header.kind)) {
    case HelperAnswer::done:
      return answer;
    case HelperAnswer::config_error:
      throw ConfigError(text_of(answer));
    case HelperAnswer::resource_error:
      throw ResourceError(text_of(answer));
    case HelperAnswer::data_error:
      throw DataError(text_of(answer));
  }
  give_up("gave an answer that makes no sense");
}

}  // namespace headrace::inline v1::detail
