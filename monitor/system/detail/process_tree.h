#pragma once

#include <headrace/monitor/system/detail/proc_stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// What a process and its descendants came to since each of them began.
struct TreeReading {
  bool lives = false;  ///< the process itself; it has not ended
  unsigned processes = 0;
  unsigned threads = 0;
  std::uint64_t ticks = 0;  ///< never less than in the reading before, whoever ended between
  std::uint64_t resident_pages = 0;
  std::uint64_t major_faults = 0;
  bool reads_told = false;           ///< of one process at least
  std::uint64_t read = 0;            ///< bytes asked of read() and its like
  std::uint64_t read_from_disk = 0;  ///< bytes that storage had to give
};

/// A process and its descendants. New ones are looked for when the system has made a process or
/// thread since the last reading: among the children that the kernel lists of each thread, or,
/// where it does not or those are more than all processes, among all that were not there. Not
/// thread-safe.
class ProcessTree {
 public:
  /// `proc`: the folder.
  ProcessTree(std::filesystem::path proc, int pid);

  TreeReading read();
  bool contains(int pid) const;

 private:
  struct Member {
    int pid = 0;
    int parent = 0;  // that it was born by
    ProcessStat stat{};
    std::uint64_t counted_ticks = 0;  // of it, in the last reading; 0: it was in none
    std::uint64_t counted_child_ticks = 0;
    bool gone = false;
  };

  void find_new();
  void add_children();
  void add_from_all();
  std::string last_made() const;
  bool refresh();
  void settle_ended();
  const Member* living_ancestor(const Member& member) const;
  void add_io(TreeReading& reading, int pid) const;
  std::filesystem::path folder_of(int pid) const;

  std::filesystem::path proc_;
  int pid_;
  bool ended_ = false;            // the process itself: whoever has its number now is another
  std::vector<Member> members_;   // parents before their children
  std::vector<int> known_;        // all processes when they were listed last, in order
  bool lists_children_;           // the kernel does
  std::size_t all_ = 0;           // processes when they were listed last
  std::size_t threads_ = 0;       // of the members in the last reading
  std::string last_made_{};       // as it was when new ones were looked for
  bool again_ = true;             // something was made then: a list may have missed it
  std::uint64_t lost_ticks_ = 0;  // of ended ones whom no living member counts
};

}  // namespace headrace::inline v1::monitor::detail
