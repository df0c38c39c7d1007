#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/system/detail/process_tree.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace headrace::inline v1::monitor::detail {

ProcessTree::ProcessTree(std::filesystem::path proc, int pid) : proc_(std::move(proc)), pid_(pid) {
  std::error_code none;
  lists_children_ =
      std::filesystem::exists(folder_of(pid) / "task" / std::to_string(pid) / "children", none);
}

std::filesystem::path ProcessTree::folder_of(int pid) const {
  return proc_ / std::to_string(pid);
}

bool ProcessTree::contains(int pid) const {
  return std::ranges::any_of(members_, [&](const Member& member) { return member.pid == pid; });
}

// The number of the process or thread that was made last; empty where it is not told.
std::string ProcessTree::last_made() const {
  const auto text = headrace::detail::read_small_file(proc_ / "loadavg");
  const auto words = headrace::detail::split_words(text ? std::string_view(*text) : "");
  return words.size() < 5 ? std::string() : std::string(words[4]);
}

// Listing all processes of a machine costs more than all the rest: some 5 us each.
void ProcessTree::find_new() {
  std::string made = last_made();
  const bool unchanged = !made.empty() && made == last_made_;
  if (unchanged && !again_) return;
  again_ = !unchanged;
  last_made_ = std::move(made);
  if (lists_children_ && all_ > 0 && threads_ < all_)
    add_children();
  else
    add_from_all();
}

void ProcessTree::add_children() {
  for (std::size_t i = 0; i < members_.size(); ++i) {  // grows meanwhile
    const int parent = members_[i].pid;
    const std::filesystem::path threads = folder_of(parent) / "task";
    for (const int thread : numbered_entries(threads)) {
      const auto list =
          headrace::detail::read_small_file(threads / std::to_string(thread) / "children");
      for (const std::string_view word :
           headrace::detail::split_words(list ? std::string_view(*list) : "")) {
        const int pid = static_cast<int>(headrace::detail::to_number(word).value_or(0));
        if (pid <= 0 || contains(pid)) continue;
        if (auto stat = read_process_stat(folder_of(pid) / "stat"))
          members_.push_back({.pid = pid, .parent = parent, .stat = std::move(*stat)});
      }
    }
  }
  known_.clear();  // by the next list, numbers may have gone to others
}

void ProcessTree::add_from_all() {
  const std::vector<int> all = numbered_entries(proc_);
  std::vector<Member> fresh;
  for (const int pid : all) {
    if (std::ranges::binary_search(known_, pid) || contains(pid)) continue;
    if (auto stat = read_process_stat(folder_of(pid) / "stat"))
      fresh.push_back({.pid = pid, .parent = stat->parent, .stat = std::move(*stat)});
  }
  known_ = all;
  all_ = all.size();
  for (bool found = true; found;) {
    found = false;
    for (auto it = fresh.begin(); it != fresh.end();) {
      const bool root = it->pid == pid_ && !ended_;
      if (!root && !contains(it->parent)) {
        ++it;
        continue;
      }
      members_.push_back(std::move(*it));
      it = fresh.erase(it);
      found = true;
    }
  }
}

// Parents are read before their children: a child that was read had not been counted to its parent
// when that was read. Who is there and cannot be read, for want of a file descriptor say, stays as
// it was. Whether somebody ended meanwhile.
bool ProcessTree::refresh() {
  bool ended = false;
  std::error_code unknown;
  for (Member& member : members_) {
    if (member.gone) continue;
    auto stat = read_process_stat(folder_of(member.pid) / "stat");
    if (stat && stat->start == member.stat.start) {
      member.stat = std::move(*stat);
    } else if (stat || !std::filesystem::exists(folder_of(member.pid), unknown)) {
      member.gone = true;
      ended = true;
      ended_ = ended_ || member.pid == pid_;
    }
  }
  return ended;
}

const ProcessTree::Member* ProcessTree::living_ancestor(const Member& member) const {
  int parent = member.parent;
  for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
    if (it->pid != parent) continue;
    if (!it->gone) return &*it;
    parent = it->parent;
  }
  return nullptr;
}

// The time of one that ended is counted to its parent, if that asked for it. What is not, is kept.
void ProcessTree::settle_ended() {
  std::map<const Member*, std::uint64_t> ended;  // by who should count them now
  for (const Member& member : members_)
    if (member.gone)
      ended[living_ancestor(member)] += member.counted_ticks + member.counted_child_ticks;
  for (const auto& [ancestor, ticks] : ended) {
    const std::uint64_t counted =
        ancestor == nullptr ? 0 : grown(ancestor->stat.child_ticks, ancestor->counted_child_ticks);
    lost_ticks_ += grown(ticks, counted);
  }
  // Another process may have got the number already: it is looked at next time.
  for (const Member& member : members_)
    if (member.gone) std::erase(known_, member.pid);
  std::erase_if(members_, [](const Member& member) { return member.gone; });
}

void ProcessTree::add_io(TreeReading& reading, int pid) const {
  const auto text = headrace::detail::read_small_file(folder_of(pid) / "io");
  if (!text) return;
  reading.reads_told = true;
  reading.read += headrace::detail::keyed_number(*text, "rchar").value_or(0);
  reading.read_from_disk += headrace::detail::keyed_number(*text, "read_bytes").value_or(0);
}

TreeReading ProcessTree::read() {
  find_new();
  // Whoever ended while the others were read may be counted twice: read again.
  constexpr int most_passes = 5;
  for (int pass = 0; pass < most_passes && refresh(); ++pass) {
  }
  settle_ended();
  TreeReading reading{.ticks = lost_ticks_};
  for (Member& member : members_) {
    const ProcessStat& stat = member.stat;
    if (member.pid == pid_ && !ended_) reading.lives = !stat.ended();
    ++reading.processes;
    reading.threads += static_cast<unsigned>(stat.threads);
    reading.ticks += stat.ticks + stat.child_ticks;
    reading.resident_pages += stat.resident_pages;
    reading.major_faults += stat.major_faults;
    add_io(reading, member.pid);
    member.counted_ticks = stat.ticks;
    member.counted_child_ticks = stat.child_ticks;
  }
  threads_ = reading.threads;
  return reading;
}

}  // namespace headrace::inline v1::monitor::detail
