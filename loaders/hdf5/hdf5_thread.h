#pragma once

#include <headrace/engine/base/export.h>

#include <functional>
#include <memory>

namespace headrace::inline v1 {

/// The one thread on which all calls of the HDF5 library are made. It starts with the first user
/// and ends with the last; while it is idle it sleeps. A forked process has one of its own: a fork
/// waits up to two seconds for the call that the library is in, as it would never return there.
///
/// For a program that calls HDF5 itself: the library has one lock for the process, so calls of its
/// own either go through run(), or the library must have been built thread-safe (Debian's is).
/// Nothing of the library's process-wide state is changed: not its environment, its plugin paths or
/// its error handler on other threads. Tables that read through the library must be destroyed
/// before main() returns.
class HEADRACE_API Hdf5Thread {
 public:
  /// The thread of the process; kept by whoever calls the library. Throws ResourceError when no
  /// thread can be had, PipelineError where the process was forked in the midst of a call.
  static std::shared_ptr<Hdf5Thread> shared();

  ~Hdf5Thread();
  Hdf5Thread(const Hdf5Thread&) = delete;
  Hdf5Thread& operator=(const Hdf5Thread&) = delete;

  /// Runs `work` there and waits for it; from any thread, the HDF5 thread included. What `work`
  /// throws is thrown here; an exception of the library becomes a DataError with the library's
  /// innermost message. In a forked process throws as shared().
  void run(const std::function<void()>& work);

 private:
  struct State;
  struct Handle;
  Hdf5Thread();
  static std::shared_ptr<State> state();
  std::unique_ptr<const Handle> handle_;
};

}  // namespace headrace::inline v1
