#pragma once

#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/hdf5/detail/helper/helper_messages.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace headrace::inline v1::detail {

/// The helper ended, or was ended, before it had answered.
class HelperEnded : public DataError {
 public:
  enum class Cause : unsigned char { itself, outside, patience };
  HelperEnded(const std::string& what, Cause cause) : DataError(what), cause_(cause) {}
  Cause cause() const noexcept { return cause_; }

 private:
  Cause cause_;
};

/// What one call may take.
struct HelperLimits {
  std::chrono::milliseconds cpu{};
  std::size_t memory = 0;  ///< beside what the helper holds already
  std::size_t answer = 0;  ///< bytes
};

/// A running helper: the program headrace-hdf5, with one file. Used by one thread at a time; ended
/// with the object.
class HelperProcess {
 public:
  /// `window` is memory that both sides see, or -1. Throws ConfigError when the program is not
  /// there, ResourceError when the system gives no process.
  HelperProcess(int data, int window);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// Whether it can be asked.
  bool alive() const noexcept;
  /// Asks and waits. Throws what the helper answers, or HelperEnded saying how it ended: by a
  /// signal, or by us when it has had its processor time or has done nothing for two minutes.
  std::vector<std::byte> ask(HelperCall call, const std::vector<std::byte>& message,
                             const HelperLimits& limits);

 private:
  class Patience;

  void send(const void* from, std::size_t bytes, Patience& patience);
  void receive(void* to, std::size_t bytes, Patience& patience);
  HelperHeader receive_header(Patience& patience);
  std::vector<std::byte> exchange(HelperHeader& header, const std::vector<std::byte>& message,
                                  const HelperLimits& limits);
  void wait_for(short event, Patience& patience);
  [[noreturn]] void give_up(const std::string& why);
  std::string end(bool& from_outside) noexcept;

  std::optional<FileDescriptor> socket_;
  pid_t process_ = -1;
};

}  // namespace headrace::inline v1::detail
