#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/loaders/hdf5/detail/helper/helper_process.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
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

constexpr int most_silent_ticks = 2400;  // of 50 ms
constexpr auto longest_extension = std::chrono::hours(1);
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
    words.reserve(arguments.size() + 1);
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

  /// The call takes so much longer, if that is not more than any call may.
  void extend(milliseconds by) {
    const milliseconds granted = std::min(by, milliseconds(longest_extension) - extended_);
    extended_ += granted;
    cpu_ += granted;
  }

  /// Why it is at its end; empty: it is not. To be asked all the time; `ticked` when nothing came
  /// for a tick. (Ticks, not time: a machine that sleeps is not the helper's fault.)
  std::string ended(bool ticked) {
    const milliseconds now = used();
    if (now - first_ > cpu_)
      return "had not answered after " + std::to_string(cpu_.count()) + " ms of processor time";
    if (std::exchange(last_, now) != now) silent_ticks_ = 0;
    if (ticked && ++silent_ticks_ >= most_silent_ticks) return "did nothing for two minutes";
    return {};
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
  milliseconds cpu_, extended_{}, first_{}, last_{};
  int silent_ticks_ = 0;
};

HelperProcess::HelperProcess(int data, int window) {
  const std::filesystem::path file = program();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) no_process(errno);
  socket_.emplace(ends[0]);
  const FileDescriptor other(ends[1]);
  Spawn spawn;
  std::vector<std::string> arguments{program_file};
  std::vector<FileDescriptor> kept;
  for (const int each : {other.number(), data, window}) {
    // Not a number of the standard streams, which the new process has of its own.
    const int copy = each < 0 ? -1 : ::fcntl(each, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0 && each >= 0) no_process(errno);
    if (copy >= 0) spawn.keep(kept.emplace_back(copy).number());
    arguments.push_back(std::to_string(copy));
  }
  process_ = spawn.run(file, arguments);
}

HelperProcess::~HelperProcess() {
  bool from_outside = false;
  end(from_outside);
}

bool HelperProcess::alive() const noexcept {
  if (process_ < 0) return false;
  char none = 0;
  return ::recv(socket_->number(), &none, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EINTR);
}

/// Ends it and says how it ended.
std::string HelperProcess::end(bool& from_outside) noexcept {
  if (process_ < 0) return {};
  // Once it has ended it is a process to be waited for, or, where the program lets the system
  // collect its children, its number may be another's.
  siginfo_t found{};
  const bool ours =
      ::waitid(P_PID, static_cast<id_t>(process_), &found, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (ours) ::kill(process_, SIGKILL);
  socket_.reset();
  int status = 0;
  pid_t ended = -1;
  while (ours && (ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (ended < 0) return "ended";
  from_outside = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (WIFSIGNALED(status)) return "ended by " + signal_name(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

void HelperProcess::give_up(const std::string& why) {
  bool from_outside = false;
  const std::string ended = end(from_outside);
  using Cause = HelperEnded::Cause;
  if (!why.empty()) throw HelperEnded(why, Cause::patience);
  throw HelperEnded(ended, from_outside ? Cause::outside : Cause::itself);
}

void HelperProcess::wait_for(short event, Patience& patience) {
  constexpr int tick_ms = 50;
  for (;;) {
    pollfd wanted{.fd = socket_->number(), .events = event, .revents = 0};
    const int ready = ::poll(&wanted, 1, tick_ms);
    if (ready < 0 && errno != EINTR) give_up(std::strerror(errno));
    if (const std::string why = patience.ended(ready == 0); !why.empty()) give_up(why);
    if (ready > 0) return;
  }
}

void HelperProcess::send(const void* from, std::size_t bytes, Patience& patience) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket_->number(), at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) wait_for(POLLOUT, patience);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) give_up({});
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void HelperProcess::receive(void* to, std::size_t bytes, Patience& patience) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    wait_for(POLLIN, patience);
    const ssize_t got = ::recv(socket_->number(), at, bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) give_up({});
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

HelperHeader HelperProcess::receive_header(Patience& patience) {
  for (;;) {
    HelperHeader header;
    receive(&header, sizeof header, patience);
    if (header.kind != static_cast<std::uint32_t>(HelperAnswer::more)) return header;
    patience.extend(milliseconds(header.cpu_ms));
  }
}

std::vector<std::byte> HelperProcess::exchange(HelperHeader& header,
                                               const std::vector<std::byte>& message,
                                               const HelperLimits& limits) {
  Patience patience(process_, limits.cpu);
  send(&header, sizeof header, patience);
  send(message.data(), message.size(), patience);
  header = receive_header(patience);
  constexpr std::size_t longest_refusal = std::size_t{1} << 16;
  if (header.bytes > limits.answer + longest_refusal) give_up("gave an answer that makes no sense");
  // Memory is taken as bytes come, not as they are announced.
  std::vector<std::byte> answer;
  while (answer.size() < header.bytes) {
    const std::size_t had = answer.size();
    answer.resize(had + std::min<std::uint64_t>(header.bytes - had, 1 << 20));
    receive(answer.data() + had, answer.size() - had, patience);
  }
  return answer;
}

std::vector<std::byte> HelperProcess::ask(HelperCall call, const std::vector<std::byte>& message,
                                          const HelperLimits& limits) {
  if (process_ < 0) throw HelperEnded("has ended before", HelperEnded::Cause::itself);
  HelperHeader header{.kind = static_cast<std::uint32_t>(call),
                      .cpu_ms = static_cast<std::uint32_t>(limits.cpu.count()),
                      .memory = limits.memory,
                      .bytes = message.size()};
  std::vector<std::byte> answer;
  try {
    answer = exchange(header, message, limits);
  } catch (...) {  // what it says later would be taken for the answer to another call
    bool from_outside = false;
    end(from_outside);
    throw;
  }
  switch (static_cast<HelperAnswer>(header.kind)) {
    case HelperAnswer::done:
      return answer;
    case HelperAnswer::config_error:
      throw ConfigError(text_of(answer));
    case HelperAnswer::resource_error:
      throw ResourceError(text_of(answer));
    case HelperAnswer::pipeline_error:
      throw PipelineError(text_of(answer));
    case HelperAnswer::data_error:
      throw DataError(text_of(answer));
    case HelperAnswer::more:
      break;
  }
  give_up("gave an answer that makes no sense");
}

}  // namespace headrace::inline v1::detail
