#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include <H5Cpp.h>

#include <pthread.h>

namespace headrace::inline v1 {
namespace {

struct Job {
  const std::function<void()>* work = nullptr;
  Job* next = nullptr;
  std::exception_ptr error{};
  bool done = false;
};

/// Held by the HDF5 thread while it is in the library, of which a fork would have a torn copy, with
/// its lock held for ever: even the end of the program would wait for it.
std::timed_mutex in_library;
thread_local bool is_hdf5_thread = false;
thread_local bool waited = false;  ///< for the library, by the thread that forks
bool torn = false;

const int fork_waits = ::pthread_atfork(
    [] { waited = !is_hdf5_thread && in_library.try_lock_for(std::chrono::seconds(2)); },
    [] {
      if (waited) in_library.unlock();
    },
    [] {
      if (waited) in_library.unlock();
      torn = torn || !waited;
    });

/// What the library said last. Text of fixed size: to note it takes no memory.
struct Complaint {
  char text[512] = {};
  bool about_resources = false;

  bool any() const noexcept { return text[0] != 0; }
};

herr_t keep_first(unsigned, const H5E_error2_t* error, void* to) {
  auto& complaint = *static_cast<Complaint*>(to);
  if (error->maj_num == H5E_RESOURCE) complaint.about_resources = true;
  if (complaint.any() || error->desc == nullptr) return 0;
  std::strncpy(complaint.text, error->desc, sizeof complaint.text - 1);
  for (const int number : {EMFILE, ENFILE, ENOMEM}) {
    char sign[24];
    std::snprintf(sign, sizeof sign, "errno = %d,", number);
    if (std::strstr(complaint.text, sign) != nullptr) complaint.about_resources = true;
  }
  return 0;
}

/// The library calls this when one of its functions failed; later calls clear its stack.
herr_t remember(hid_t stack, void* to) {
  *static_cast<Complaint*>(to) = {};
  return H5Ewalk2(stack, H5E_WALK_UPWARD, &keep_first, to);
}

[[noreturn]] void complain(const Complaint& complaint, const H5::Exception& error) {
  const std::string what = "the HDF5 library says: " +
                           (complaint.any() ? std::string(complaint.text) : error.getDetailMsg());
  if (complaint.about_resources) throw ResourceError(what);
  throw DataError(what);
}

}  // namespace

struct Hdf5Thread::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable finished;
  Job* oldest = nullptr;  ///< a list, so that asking takes no memory
  bool stop = false;
  Complaint complaint;  ///< of the HDF5 thread alone
  std::thread thread;

  State() {
    try {
      thread = std::thread([this] { serve(); });
    } catch (const std::system_error& error) {
      throw ResourceError(
          std::string("[hdf5] a thread for the library is needed, the system gave none (") +
          error.what() + "); raise the limit of threads");
    }
  }
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_one();
    thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void execute(Job& job) {
    complaint = {};
    try {
      try {
        (*job.work)();
      } catch (const H5::Exception& error) {
        complain(complaint, error);
      }
    } catch (...) {
      job.error = std::current_exception();
    }
    if (complaint.any()) H5Eclear2(H5E_DEFAULT);  // the library would leak it with the thread
  }

  void serve() {
    is_hdf5_thread = true;
    {
      const std::lock_guard there(in_library);
      H5Eset_auto2(H5E_DEFAULT, &remember, &complaint);
    }
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || oldest != nullptr; });
      if (oldest == nullptr) return;
      Job& job = *oldest;
      oldest = job.next;
      lock.unlock();
      {
        const std::lock_guard there(in_library);
        execute(job);
      }
      lock.lock();
      job.done = true;
      finished.notify_all();
    }
  }
};

/// What keeps the thread: that of the process that it is used in.
struct Hdf5Thread::Handle {
  detail::PerProcess<std::shared_ptr<State>> state{
      [] { return std::make_unique<std::shared_ptr<State>>(Hdf5Thread::state()); }};
};

std::shared_ptr<Hdf5Thread::State> Hdf5Thread::state() {
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<State> running;
  };
  static const auto& shared = *new detail::PerProcess<Shared>();
  if (torn)
    throw PipelineError(
        "[hdf5] this process was forked while another thread of it was in the HDF5 library, which "
        "can no longer be called here; fork before tables are opened or read through the library, "
        "or leave it to a helper (use_hdf5_helper())");
  const std::lock_guard lock(shared->mutex);
  std::shared_ptr<State> state = shared->running.lock();
  if (!state) shared->running = state = std::make_shared<State>();
  return state;
}

Hdf5Thread::Hdf5Thread() : handle_(std::make_unique<const Handle>()) {}
Hdf5Thread::~Hdf5Thread() = default;

std::shared_ptr<Hdf5Thread> Hdf5Thread::shared() {
  return std::shared_ptr<Hdf5Thread>(new Hdf5Thread);
}

void Hdf5Thread::run(const std::function<void()>& work) {
  State& state = **handle_->state;
  Job job{.work = &work};
  if (std::this_thread::get_id() == state.thread.get_id()) {
    state.execute(job);
  } else {
    std::unique_lock lock(state.mutex);
    Job** last = &state.oldest;
    while (*last != nullptr)
      last = &(*last)->next;
    *last = &job;
    state.wake.notify_one();
    state.finished.wait(lock, [&] { return job.done; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace headrace::inline v1
