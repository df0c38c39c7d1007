#include <headrace/apps/feed/read_window.h>

#include <mutex>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

using monitor::ReadFacts;

struct Counted {
  std::uint64_t source = 0;
  ReadFacts facts{};  // since its opening
};

class KnownSources {
 public:
  void add(SourceReads reads) {
    const std::lock_guard lock(mutex_);
    std::erase_if(sources_, [](const auto& known) { return !known.second(); });
    sources_.emplace_back(next_++, std::move(reads));
  }
  std::vector<Counted> in_use() {
    const std::lock_guard lock(mutex_);
    std::vector<Counted> counted;
    for (const auto& [source, reads] : sources_)
      if (auto facts = reads()) counted.push_back({source, *std::move(facts)});
    return counted;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, SourceReads>> sources_;
  std::uint64_t next_ = 0;
};

KnownSources& known_sources() {
  static KnownSources sources;
  return sources;
}

}  // namespace

void watch_reads(SourceReads reads) {
  known_sources().add(std::move(reads));
}

void ReadWindow::begin() {
  before_.clear();
  for (const Counted& one : known_sources().in_use())
    before_[one.source] = {.unpacked = one.facts.bytes_read, .used = one.facts.bytes_used};
}

std::optional<ReadFacts> ReadWindow::facts() const {
  std::optional<ReadFacts> worst;
  for (Counted& one : known_sources().in_use()) {
    if (const auto before = before_.find(one.source); before != before_.end()) {
      one.facts.bytes_read -= before->second.unpacked;
      one.facts.bytes_used -= before->second.used;
    }
    const auto in_vain = [](const ReadFacts& reads) { return reads.bytes_read - reads.bytes_used; };
    if (!(one.facts.bytes_read > 0.0)) continue;
    if (!worst || in_vain(one.facts) > in_vain(*worst)) worst = std::move(one.facts);
  }
  return worst;
}

}  // namespace headrace::inline v1::app
