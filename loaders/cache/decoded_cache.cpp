#include <headrace/loaders/cache/decoded_cache.h>

namespace headrace::inline v1 {
namespace {

/// The source of the pipeline: what is kept, else the source behind it, marked.
class CachedSource final : public Source {
 public:
  explicit CachedSource(std::shared_ptr<detail::CacheStore> store) : store_(std::move(store)) {}

  std::string name() const override { return source().name() + ", cached"; }
  std::int64_t size() const override { return source().size(); }
  Schema fields() const override {
    Schema schema = source().fields();
    schema.put(FieldSpec::fixed(detail::CacheStore::mark, DType::int64, Shape{2}));
    return schema;
  }
  void read(std::int64_t index, Sample& sample) const override {
    const detail::CacheKey key{index, sample.origin().part};
    bool waits = false;
    if (store_->fetch(key, sample, true, waits)) return;
    source().read(index, sample);
    detail::CacheStore::set_mark(sample, key);
  }
  bool read_now(std::int64_t index, Sample& sample) const override {
    const detail::CacheKey key{index, sample.origin().part};
    bool waits = false;
    if (store_->fetch(key, sample, false, waits)) return true;
    if (waits || !source().read_now(index, sample)) return false;
    detail::CacheStore::set_mark(sample, key);
    return true;
  }
  bool blocking() const override { return source().blocking() || store_->on_disk(); }
  std::size_t working_bytes(std::int64_t index) const override {
    return source().working_bytes(index);
  }
  std::size_t largest_working_bytes() const override { return source().largest_working_bytes(); }
  std::size_t resident_bytes() const override { return store_->resident_bytes(); }
  std::string origin(std::int64_t index) const override { return source().origin(index); }
  std::int64_t part(std::int64_t index) const override { return source().part(index); }

 private:
  const Source& source() const noexcept { return store_->source(); }

  std::shared_ptr<detail::CacheStore> store_;
};

}  // namespace

DecodedCache::DecodedCache(std::shared_ptr<const Source> source, const DecodedCacheOptions& options)
    : store_(std::make_shared<detail::CacheStore>(std::move(source), options)) {}
DecodedCache::~DecodedCache() = default;

std::size_t DecodedCache::bytes_for(const Schema& kept, std::int64_t records) {
  return static_cast<std::size_t>(records) * detail::CacheStore::most_bytes(kept);
}

std::shared_ptr<const Source> DecodedCache::source() const {
  return std::make_shared<const CachedSource>(store_);
}

DecodedCache::Stats DecodedCache::stats() const {
  return store_->stats();
}

bool DecodedCache::on_disk() const noexcept {
  return store_->on_disk();
}

std::size_t DecodedCache::shrink(std::size_t bytes) const {
  return store_->shrink(bytes);
}

void DecodedCache::require_plain(bool draws, const std::string& name) {
  if (!draws) return;
  throw ConfigError("[cache] " + name +
                    " draws at random: every epoch would see the same draw; put it behind the "
                    "cached step");
}

}  // namespace headrace::inline v1
