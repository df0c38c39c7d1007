#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace headrace::inline v1::app {

/// While it lives, SIGUSR2 does not end the process; while an Answer lives, too, each calls it.
/// One at a time in a process.
class LiveSignal {
 public:
  /// Throws ResourceError when no pipe can be had.
  LiveSignal();
  ~LiveSignal();
  LiveSignal(const LiveSignal&) = delete;
  LiveSignal& operator=(const LiveSignal&) = delete;

  /// Calls `work` for a signal, on a thread of its own; those that come meanwhile are one more
  /// call. What came before it is forgotten. Ends at once but for a call that is under way, whose
  /// token is triggered then. What `work` throws is lost.
  class Answer {
   public:
    explicit Answer(std::function<void(const std::stop_token&)> work);
    ~Answer();
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

   private:
    std::jthread listener_;
  };
};

}  // namespace headrace::inline v1::app
