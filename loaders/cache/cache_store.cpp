#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/loaders/cache/detail/cache_table.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/file/printable.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

namespace detail {

CacheStore::CacheStore(std::shared_ptr<const Source> source, const DecodedCacheOptions& options)
    : source_(std::move(source)), options_(options) {
  if (!source_) throw ConfigError("[cache] a source is needed, got none");
  if (options_.bytes == 0) {
    throw ConfigError(
        "[cache] bytes must be positive, got 0; leave the cache out, or say how much "
        "it may take");
  }
  table_ = std::make_unique<const PerProcess<Table>>(
      [this] { return std::make_unique<Table>(options_); });
}

CacheStore::Table& CacheStore::table() const {
  return **table_;
}

std::size_t CacheStore::most_bytes(const Schema& kept) {
  std::size_t bytes = Table::place_bytes + alignment;
  for (const FieldSpec& field : kept)
    bytes += aligned(field.row_bytes());
  return bytes;
}

CacheStore::~CacheStore() = default;

std::size_t CacheStore::resident_bytes() const {
  if (!on_disk()) return source_->resident_bytes() + options_.bytes;
  const std::int64_t samples = std::max<std::int64_t>(source_->size(), table().samples);
  return source_->resident_bytes() + static_cast<std::size_t>(samples) * Table::place_bytes;
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
bool CacheStore::fetch(const CacheKey& key, Sample& sample, bool may_wait, bool& waits) const {
  const Entry* entry = nullptr;  // on disk it stays
  {
    Table::Stripe& stripe = table().stripe(key);
    const std::shared_lock lock(stripe.mutex);
    entry = stripe.find(key);
  }
  if (entry == nullptr) return false;
  if (on_disk() && !load(*entry, sample, may_wait)) {
    waits = true;
    return false;
  }
  set_mark(sample, key, on_disk());
  return true;
}

void CacheStore::set_mark(Sample& sample, const CacheKey& key, bool whole) {
  auto* said = sample.make(mark, DType::int64, Shape{2}).data<std::int64_t>();
  said[0] = whole ? -1 - key.index : key.index;
  said[1] = key.part;
}

bool CacheStore::complete(Sample& sample, CacheKey& key) const {
  const auto* said = sample[mark].data<std::int64_t>();
  key = {said[0], said[1]};
  sample.remove(mark);
  const bool loaded = key.index < 0;
  if (loaded) {
    table().hits.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (on_disk()) return false;
  {
    Table::Stripe& stripe = table().stripe(key);
    const std::shared_lock lock(stripe.mutex);
    if (const Entry* entry = stripe.find(key)) {
      load(*entry, sample, true);
      table().hits.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  // Let go of since the source was passed over for it.
  if (sample.names().empty()) source_->read(key.index, sample);
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

void CacheStore::keep(const CacheKey& key, const Sample& sample) {
  Table& table = this->table();
  table.misses.fetch_add(1, std::memory_order_relaxed);
  if (table.full || table.failed) return;
  Table::Stripe& stripe = table.stripe(key);
  {
    const std::shared_lock lock(stripe.mutex);
    if (stripe.find(key) != nullptr) return;
  }
  const OwnHeap kept;
  Entry entry{.layout = layout_of(sample)};
  const std::size_t bytes = bytes_of(entry);
  if (!reserve(bytes)) return;
  if (store(entry, sample)) {
    const std::lock_guard lock(stripe.mutex);
    if (stripe.entries.try_emplace(key, std::move(entry)).second) {
      table.samples.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  table.taken.fetch_sub(bytes);
}

std::size_t CacheStore::bytes_of(const Entry& entry) const {
  return entry.layout->bytes + (on_disk() ? 0 : Table::place_bytes + alignment);
}

std::size_t CacheStore::shrink(std::size_t bytes) {
  if (on_disk()) return 0;
  Table& table = this->table();
  table.most = std::min(table.most.load(), bytes);
  std::size_t gone = 0;
  for (Table::Stripe& stripe : table.stripes) {
    const std::lock_guard lock(stripe.mutex);
    while (!stripe.entries.empty() && table.taken > bytes) {
      const auto last = std::prev(stripe.entries.end());
      const std::size_t freed = bytes_of(last->second);
      stripe.entries.erase(last);
      table.taken -= freed;
      --table.samples;
      gone += freed;
    }
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
