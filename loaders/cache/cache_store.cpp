#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/printable.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

}  // namespace

namespace detail {

/// Names, dtypes and shapes of a sample's fields and where each lies; shared by samples alike.
struct CacheStore::Layout {
  struct Field {
    std::string name;
    DType dtype;
    Shape shape;
    std::size_t offset;
  };
  std::vector<Field> fields;
  std::size_t bytes = 0;
};

struct CacheStore::Entry {
  const Layout* layout = nullptr;
  std::unique_ptr<std::byte, Free> memory;
  std::uint64_t offset = 0;  ///< on disk
};

struct CacheStore::Table {
  Table(std::int64_t size, const DecodedCacheOptions& options)
      : entries(static_cast<std::size_t>(size)), most(options.bytes) {
    if (options.folder.empty()) return;
    file = nameless_file(options.folder, "headrace-cache-XXXXXX");
    if (file.number() < 0) {
      throw ResourceError("[cache] " + printable(options.folder.native()) +
                          ": a file must be made there, got: " + error_text());
    }
  }
  ~Table() {
    for (auto& entry : entries)
      delete entry.load(std::memory_order_relaxed);
  }

  const Entry* find(std::int64_t index) const noexcept {
    return entries[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
  }

  /// Held while an entry's memory is read, and alone while entries are let go of. Several, so that
  /// readers share no line.
  std::shared_mutex& reading(std::int64_t index) const noexcept {
    return locks[static_cast<std::size_t>(index) % locks.size()].mutex;
  }

  struct alignas(64) Lock {
    std::shared_mutex mutex;
  };
  mutable std::array<Lock, 64> locks;
  std::vector<std::atomic<const Entry*>> entries;
  std::mutex mutex;  ///< of the layouts
  std::unordered_map<std::string, std::unique_ptr<const Layout>> layouts;
  FileDescriptor file{-1};
  std::atomic<std::size_t> most;  ///< that may be taken
  std::atomic<std::size_t> taken{0};
  std::atomic<std::uint64_t> file_end{0};
  std::atomic<std::int64_t> samples{0};
  mutable std::atomic<std::int64_t> hits{0};
  std::atomic<std::int64_t> misses{0};
  std::atomic<bool> full{false};
  std::atomic<bool> failed{false};
};

CacheStore::CacheStore(std::shared_ptr<const Source> source, const DecodedCacheOptions& options)
    : source_(std::move(source)), options_(options) {
  if (!source_) throw ConfigError("[cache] a source is needed, got none");
  if (options_.bytes == 0) {
    throw ConfigError(
        "[cache] bytes must be positive, got 0; leave the cache out, or say how much "
        "it may take");
  }
  table_ = std::make_unique<const PerProcess<Table>>(
      [this] { return std::make_unique<Table>(source_->size(), options_); });
}

CacheStore::Table& CacheStore::table() const {
  return **table_;
}

std::size_t CacheStore::most_bytes(const Schema& kept) {
  std::size_t bytes = sizeof(Entry) + alignment;
  for (const FieldSpec& field : kept)
    bytes += aligned(field.row_bytes());
  return bytes;
}

CacheStore::~CacheStore() = default;

std::size_t CacheStore::resident_bytes() const {
  const std::size_t places = table().entries.size() * sizeof(void*);
  if (!on_disk()) return source_->resident_bytes() + places + options_.bytes;
  return source_->resident_bytes() + places + table().entries.size() * sizeof(Entry);
}

bool CacheStore::load(const Entry& entry, Sample& sample, bool may_wait) const {
  for (const Layout::Field& field : entry.layout->fields) {
    Tensor& tensor = sample.make(field.name, field.dtype, field.shape);
    auto* to = static_cast<std::byte*>(tensor.raw());
    if (!on_disk()) {
      std::memcpy(to, entry.memory.get() + field.offset, tensor.bytes());
      continue;
    }
    const std::uint64_t offset = entry.offset + field.offset;
    const auto bytes = static_cast<std::int64_t>(tensor.bytes());
    if (!may_wait && !read_cached(table().file.number(), to, tensor.bytes(), offset)) return false;
    const std::int64_t got =
        may_wait ? pread_all(table().file.number(), to, tensor.bytes(), offset) : bytes;
    if (got != bytes) {
      give_up("read: " + (got < 0 ? error_text() : "it has become shorter"));
      for (const Layout::Field& loaded : entry.layout->fields)
        sample.remove(loaded.name);
      return false;
    }
  }
  return true;
}

// What is in memory is copied by the step, on a worker.
bool CacheStore::fetch(std::int64_t index, Sample& sample, bool may_wait, bool& waits) const {
  const Entry* entry = table().find(index);
  if (entry == nullptr) return false;
  if (on_disk() && !load(*entry, sample, may_wait)) {
    waits = true;
    return false;
  }
  sample.set_scalar<std::int64_t>(mark, on_disk() ? -1 - index : index);
  return true;
}

bool CacheStore::complete(Sample& sample, std::int64_t& index) const {
  index = sample[mark].item<std::int64_t>();
  sample.remove(mark);
  const bool loaded = index < 0;
  if (loaded) {
    table().hits.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (on_disk()) return false;
  {
    const std::shared_lock lock(table().reading(index));
    if (const Entry* entry = table().find(index)) {
      load(*entry, sample, true);
      table().hits.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  // Let go of since the source was passed over for it.
  if (sample.names().empty()) source_->read(index, sample);
  return false;
}

const CacheStore::Layout* CacheStore::layout_of(const Sample& sample) {
  Layout layout;
  std::string key;
  for (const std::string& name : sample.names()) {
    const Tensor& tensor = sample[name];
    layout.fields.push_back({name, tensor.dtype(), tensor.shape(), layout.bytes});
    layout.bytes += aligned(tensor.bytes());
    key += to_string(FieldSpec::fixed(name, tensor.dtype(), tensor.shape())) + "\n";
  }
  const std::lock_guard lock(table().mutex);
  auto& known = table().layouts[key];
  if (!known) known = std::make_unique<const Layout>(std::move(layout));
  return known.get();
}

bool CacheStore::reserve(std::size_t bytes) {
  const std::size_t before = table().taken.fetch_add(bytes);
  if (before + bytes <= table().most) return true;
  table().taken.fetch_sub(bytes);
  table().full = true;
  return false;
}

void CacheStore::give_up(const std::string& reason) const {
  if (table().failed.exchange(true) || !options_.log) return;
  options_.log(LogLevel::warning, "cache: the file in " + printable(options_.folder.native()) +
                                      " cannot be " + reason + "; nothing more is kept");
}

bool CacheStore::store(Entry& entry, const Sample& sample) {
  const Layout& layout = *entry.layout;
  if (on_disk()) {
    entry.offset = table().file_end.fetch_add(layout.bytes);
  } else {
    entry.memory.reset(
        static_cast<std::byte*>(std::aligned_alloc(alignment, std::max(layout.bytes, alignment))));
    if (!entry.memory) {
      table().full = true;
      return false;
    }
  }
  for (const Layout::Field& field : layout.fields) {
    const Tensor& tensor = sample[field.name];
    const auto* from = static_cast<const std::byte*>(tensor.raw());
    if (!on_disk()) {
      std::memcpy(entry.memory.get() + field.offset, from, tensor.bytes());
    } else if (!pwrite_all(table().file.number(), from, tensor.bytes(),
                           entry.offset + field.offset)) {
      give_up("written: " + error_text());
      return false;
    }
  }
  return true;
}

void CacheStore::keep(std::int64_t index, const Sample& sample) {
  table().misses.fetch_add(1, std::memory_order_relaxed);
  if (table().full || table().failed || table().find(index) != nullptr) return;
  const OwnHeap kept;
  auto entry = std::make_unique<Entry>();
  entry->layout = layout_of(sample);
  const std::size_t bytes = entry->layout->bytes + (on_disk() ? 0 : sizeof(Entry) + alignment);
  if (!reserve(bytes)) return;
  const Entry* nothing = nullptr;
  auto& place = table().entries[static_cast<std::size_t>(index)];
  if (store(*entry, sample) &&
      place.compare_exchange_strong(nothing, entry.get(), std::memory_order_acq_rel)) {
    entry.release();
    table().samples.fetch_add(1, std::memory_order_relaxed);
  } else {
    table().taken.fetch_sub(bytes);
  }
}

std::size_t CacheStore::shrink(std::size_t bytes) {
  if (on_disk()) return 0;
  table().most = std::min(table().most.load(), bytes);
  std::size_t gone = 0;
  for (std::size_t place = table().entries.size(); place-- > 0 && table().taken > bytes;) {
    const std::lock_guard lock(table().reading(static_cast<std::int64_t>(place)));
    const std::unique_ptr<const Entry> entry(
        table().entries[place].exchange(nullptr, std::memory_order_acq_rel));
    if (!entry) continue;
    const std::size_t freed = entry->layout->bytes + sizeof(Entry) + alignment;
    table().taken -= freed;
    --table().samples;
    gone += freed;
  }
  return gone;
}

Schema CacheStore::without_mark(const Schema& in) {
  if (in.find(mark) == nullptr) {
    throw ConfigError(
        "[cache] the step keep() must be the first after the cache's own source, got " +
        to_string(in) + "; begin with Pipeline::from(cache.source())");
  }
  Schema out = in;
  out.remove(mark);
  return out;
}

DecodedCache::Stats CacheStore::stats() const {
  return {.samples = table().samples,
          .bytes = table().taken,
          .most = table().most,
          .hits = table().hits,
          .misses = table().misses,
          .full = table().full};
}

}  // namespace detail

}  // namespace headrace::inline v1
