#pragma once

#include <headrace/monitor/advice/read_facts.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace headrace::inline v1::app {

/// What a source has unpacked out of chunks since it was opened, and used of it: bytes that only
/// grow. Nothing: the source is gone. Called from any thread.
using SourceReads = std::function<std::optional<monitor::ReadFacts>()>;

/// Has the reads of a source counted by the windows of this process while it is in use.
/// Thread-safe.
void watch_reads(SourceReads reads);

/// What the sources that are watched unpack between two looks. A source that is opened meanwhile
/// counts from its opening. Used by one thread at a time.
class ReadWindow {
 public:
  ReadWindow() { begin(); }

  /// Begins anew.
  void begin();
  /// Facts of the source that unpacked most beyond what was used of it, since begin(); nothing
  /// where none has unpacked anything.
  std::optional<monitor::ReadFacts> facts() const;

 private:
  std::map<std::uint64_t, monitor::ChunkBytes> before_;  // by source
};

}  // namespace headrace::inline v1::app
