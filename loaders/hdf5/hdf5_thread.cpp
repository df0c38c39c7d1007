#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <H5Cpp.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <headrace/engine/error.h>

namespace headrace::inline v1 {
namespace {

struct Job {
  const std::function<void()>* work = nullptr;
  std::exception_ptr error{};
  bool done = false;
};

herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) {
  auto& message = *static_cast<std::string*>(text);
  if (message.empty() && error->desc != nullptr) message = error->desc;
  return 0;
}

/// The library calls this when one of its functions failed; later calls clear its stack.
herr_t remember(hid_t stack, void* text) {
  static_cast<std::string*>(text)->clear();
  return H5Ewalk2(stack, H5E_WALK_UPWARD, &keep_first, text);
}

}  // namespace

struct Hdf5Thread::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable finished;
  std::deque<Job*> jobs;
  bool stop = false;
  std::string library_message;  ///< of the HDF5 thread alone
  std::thread thread;

  void execute(Job& job) {
    library_message.clear();
    try {
      (*job.work)();
    } catch (const H5::Exception& error) {
      const std::string& what = library_message.empty() ? error.getDetailMsg() : library_message;
      job.error = std::make_exception_ptr(DataError("the HDF5 library says: " + what));
    } catch (...) {
      job.error = std::current_exception();
    }
    if (!library_message.empty())
      H5Eclear2(H5E_DEFAULT);  // the library would leak it with the thread
  }

  void serve() {
    H5Eset_auto2(H5E_DEFAULT, &remember, &library_message);
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || !jobs.empty(); });
      if (jobs.empty()) return;
      Job& job = *jobs.front();
      jobs.pop_front();
      lock.unlock();
      execute(job);
      lock.lock();
      job.done = true;
      finished.notify_all();
    }
  }
};

Hdf5Thread::Hdf5Thread() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] { state->serve(); });
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
  if (std::this_thread::get_id() == state_->thread.get_id()) return work();
  Job job{.work = &work};
  {
    std::unique_lock lock(state_->mutex);
    state_->jobs.push_back(&job);
    state_->wake.notify_one();
    state_->finished.wait(lock, [&] { return job.done; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace headrace::inline v1
