#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>

#include <pthread.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

std::atomic<unsigned> forks_so_far{0};

const int counted = ::pthread_atfork(nullptr, nullptr,
                                     [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned forks() noexcept {
  return forks_so_far.load(std::memory_order_relaxed);
}

HomeProcess::HomeProcess() noexcept : HomeProcess(detail::forks(), ::getpid()) {}

void HomeProcess::refuse(const std::string& who) const {
  throw PipelineError(who + " was made in process " + std::to_string(id_) +
                      ", of which this one, " + std::to_string(::getpid()) +
                      ", is a fork: its threads, locks and files are that one's; make it after "
                      "the fork");
}

}  // namespace headrace::inline v1::detail
