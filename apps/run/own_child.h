#pragma once

#include <headrace/apps/run/child_process.h>
#include <headrace/loaders/file/file_descriptor.h>

#include <csignal>
#include <string>

#include <sys/types.h>

namespace headrace::inline v1::app {

/// For what this program and a child of it say to each other: a file in memory that the other
/// inherits, so that no folder is needed and nothing is left where either is killed.
class SharedText {
 public:
  /// Throws ResourceError.
  explicit SharedText(const char* name);
  /// For either process.
  std::string path() const;

 private:
  headrace::detail::FileDescriptor file_;
};

/// The status of a child that was killed, as the kernel does where there is no memory.
constexpr int killed_status = 128 + SIGKILL;

/// This program's file, to start it again.
std::string this_program_path();

/// In a process that `parent` has started for itself: ends with it, also where that has ended
/// already. To be called before any work; 0: nobody waits for this process.
void end_with(pid_t parent);

/// "ended with 4: headrace: [memory] ...", or by which signal, and where it hung.
std::string ending_of(const ChildResult& child);

}  // namespace headrace::inline v1::app
