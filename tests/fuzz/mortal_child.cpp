#include <headrace/tests/fuzz/mortal_child.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Counters of clang's coverage, a byte an edge; nothing in a build without.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern unsigned char __start___sancov_cntrs[];
[[gnu::weak, gnu::visibility("hidden")]] extern unsigned char __stop___sancov_cntrs[];
[[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
}

namespace headrace::test {
namespace {

constexpr std::chrono::seconds most_time{5};
constexpr long most_pages = (1L << 30) / 4096;

std::span<unsigned char> counters() {
  unsigned char* first = __start___sancov_cntrs;
  unsigned char* last = __stop___sancov_cntrs;
  if (first == nullptr) return {};
  return {first, static_cast<std::size_t>(last - first)};
}

void require(bool right) {
  if (right) return;
  std::perror("mortal child");
  std::abort();
}

long resident_pages(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/statm";
  std::FILE* file = std::fopen(path.c_str(), "r");
  long all = 0, resident = 0;
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident;
}

/// A fuzzer's own handlers would take the child's death for its own.
void die_quietly() {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(nullptr);
  for (const int signal : {SIGABRT, SIGINT, SIGTERM, SIGALRM, SIGXFSZ})
    std::signal(signal, SIG_DFL);
}

}  // namespace

MortalChild::MortalChild(Work work)
    : work_(std::move(work)),
      input_(::open(input_name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      words_(::memfd_create("words", MFD_CLOEXEC)) {
  require(input_ >= 0 && words_ >= 0);
  const std::size_t size = std::max<std::size_t>(counters().size(), 1);
  void* shared = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(shared != MAP_FAILED);
  seen_ = {static_cast<unsigned char*>(shared), counters().size()};
}

MortalChild::~MortalChild() {
  stop();
  ::close(input_);
  ::close(words_);
  ::munmap(seen_.data(), std::max<std::size_t>(seen_.size(), 1));
}

void MortalChild::start() {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  require(::ftruncate(words_, 0) == 0);
  child_ = ::fork();
  require(child_ >= 0);
  if (child_ == 0) serve(ends[1]);
  ::close(ends[1]);
  requests_ = ends[0];
}

void MortalChild::serve(int requests) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  die_quietly();
  ::lseek(words_, 0, SEEK_SET);
  ::dup2(words_, STDERR_FILENO);
  unsigned char number = 0;
  while (::read(requests, &number, 1) == 1) {
    std::ranges::fill(counters(), 0);
    work_(input_name_, number);
    std::ranges::copy(counters(), seen_.begin());
    if (::write(requests, &number, 1) != 1) break;
  }
  ::_exit(0);
}

MortalChild::End MortalChild::wait() const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most_time;
  pollfd answer{requests_, POLLIN, 0};
  while (::poll(&answer, 1, 50) == 0) {
    if (Clock::now() > end) return End::slow;
    if (resident_pages(child_) > most_pages) return End::large;
  }
  char done = 0;
  return ::read(requests_, &done, 1) == 1 ? End::done : End::died;
}

void MortalChild::stop() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  ::close(requests_);
  child_ = -1;
}

MortalChild::End MortalChild::run(std::span<const std::byte> input, unsigned char number) {
  require(::ftruncate(input_, 0) == 0 &&
          ::pwrite(input_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()));
  if (child_ < 0) start();
  const End end = ::send(requests_, &number, 1, MSG_NOSIGNAL) == 1 ? wait() : End::died;
  if (end == End::done) {
    const std::span<unsigned char> ours = counters();
    for (std::size_t i = 0; i < ours.size(); ++i)
      ours[i] = std::max(ours[i], seen_[i]);
    return end;
  }
  stop();
  last_words_.resize(1 << 16);
  const ssize_t got = ::pread(words_, last_words_.data(), last_words_.size(), 0);
  last_words_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return end;
}

}  // namespace headrace::test
