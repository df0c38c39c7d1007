#include <headrace/apps/run/memory_guard.h>

#include <utility>

namespace headrace::inline v1::app {

MemoryGuard::MemoryGuard(const monitor::MemoryLimit& limit, StopSignals& signals,
                         std::function<void(const std::string&)> say)
    : watch_({.limit = limit.bytes, .period = std::chrono::milliseconds(200), .driver_locked = {}},
             [this, &signals, say = std::move(say)](const monitor::MemoryEvent& event) {
               if (!event.over || over_.exchange(true)) return;
               say(event.sentence() + "; the run ends in good order");
               signals.request();
             }) {}

}  // namespace headrace::inline v1::app
