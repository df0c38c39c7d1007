#include <headrace/apps/memory/memory_room.h>

#include <algorithm>

#include <sys/statvfs.h>

namespace headrace::inline v1::app {

void add_room(monitor::MachineFacts& machine, std::uint64_t limit, std::uint64_t held) {
  if (limit > 0) machine.memory_room = std::min(machine.memory_room, limit - std::min(limit, held));
  machine.shared_room = shared_memory_room();
}

std::uint64_t shared_memory_room() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0) return 0;
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

}  // namespace headrace::inline v1::app
