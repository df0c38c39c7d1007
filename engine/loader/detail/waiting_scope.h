#pragma once

#include <condition_variable>

namespace headrace::inline v1::detail {

/// Counts a call among those that a loader's end waits for. The loader's mutex is held at both
/// ends.
class WaitingScope {
 public:
  WaitingScope(int& waiting, std::condition_variable& changed, const bool& closed)
      : waiting_(waiting), changed_(changed), closed_(closed) {
    ++waiting_;
  }
  ~WaitingScope() {
    --waiting_;
    if (closed_) changed_.notify_all();
  }
  WaitingScope(const WaitingScope&) = delete;
  WaitingScope& operator=(const WaitingScope&) = delete;

 private:
  int& waiting_;
  std::condition_variable& changed_;
  const bool& closed_;
};

}  // namespace headrace::inline v1::detail
