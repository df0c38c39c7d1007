#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include <H5Cpp.h>

namespace headrace::inline v1 {
namespace {

struct Job {
  const std::function<void()>* work = nullptr;
  Job* next = nullptr;
  std::exception_ptr error{};
  bool done = false;
};

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
    H5Eset_auto2(H5E_DEFAULT, &remember, &complaint);
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || oldest != nullptr; });
      if (oldest == nullptr) return;
      Job& job = *oldest;
      oldest = job.next;
      lock.unlock();
      execute(job);
      lock.lock();
      job.done = true;
      finished.notify_all();
    }
  }
};

Hdf5Thread::Hdf5Thread() : state_(std::make_unique<State>()) {
  try {
    state_->thread = std::thread([state = state_.get()] { state->serve(); });
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("[hdf5] a thread for the library is needed, the system gave "
                                    "none (") +
                        error.what() + "); raise the limit of threads");
  }
}

Hdf5Thread::~Hdf5Thread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_one();
  state_->thread.join();
}

std::shared_ptr<Hdf5Thread> Hdf5Thread::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Hdf5Thread> running;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Hdf5Thread> thread = running.lock();
  if (!thread) {
    thread.reset(new Hdf5Thread);
    running = thread;
  }
  return thread;
}

void Hdf5Thread::run(const std::function<void()>& work) {
  Job job{.work = &work};
  if (std::this_thread::get_id() == state_->thread.get_id()) {
    state_->execute(job);
  } else {
    std::unique_lock lock(state_->mutex);
    Job** last = &state_->oldest;
    while (*last != nullptr)
      last = &(*last)->next;
    *last = &job;
    state_->wake.notify_one();
    state_->finished.wait(lock, [&] { return job.done; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace headrace::inline v1
