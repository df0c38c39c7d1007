#include <headrace/augment/volume/detail/cache_folder.h>
#include <headrace/augment/volume/detail/content_hash.h>
#include <headrace/augment/volume/label_cache.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <zstd.h>

namespace headrace::inline v1 {
namespace {

constexpr std::string_view magic = "headrace label 1\n";

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

/// What a result depends on, as text; it begins its file, so that no name is trusted.
std::string head_of(const std::string& text, const Tensor& label, const Tensor& result) {
  const auto kind = [](const Tensor& tensor) {
    return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
  };
  return std::string(magic) + text + "\n" + kind(label) + " to " + kind(result) + "\n" +
         detail::to_hex(detail::hash_content(label.as_bytes())) + "\n";
}

std::string file_name(const std::string& head) {
  return detail::to_hex(detail::hash_content(std::as_bytes(std::span(head)))) + ".label";
}

/// The head, then one frame of Zstandard with its checksum; empty where that failed.
std::vector<std::byte> packed(const std::string& head, const Tensor& result, int level) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) return {};
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::byte> file(head.size() + ZSTD_compressBound(result.bytes()));
  std::memcpy(file.data(), head.data(), head.size());
  const std::size_t size = ZSTD_compress2(context.get(), file.data() + head.size(),
                                          file.size() - head.size(), result.raw(), result.bytes());
  if (ZSTD_isError(size) != 0) return {};
  file.resize(head.size() + size);
  return file;
}

bool unpack(std::span<const std::byte> file, const std::string& head, const Tensor& result) {
  if (file.size() < head.size()) return false;
  if (std::memcmp(file.data(), head.data(), head.size()) != 0) return false;
  const auto frame = file.subspan(head.size());
  return ZSTD_decompress(result.raw(), result.bytes(), frame.data(), frame.size()) ==
         result.bytes();
}

}  // namespace

struct LabelCache::State {
  LabelCacheOptions options;
  detail::CacheFolder folder;
  mutable std::atomic<std::uint64_t> hits = 0;
  mutable std::atomic<std::uint64_t> misses = 0;

  explicit State(LabelCacheOptions wanted)
      : options(std::move(wanted)), folder(options.folder, options.most_bytes) {}
};

LabelCache::LabelCache(LabelCacheOptions options) {
  if (options.level < 1 || options.level > 19) {
    throw ConfigError("[label cache] level must be 1 to 19, got " + std::to_string(options.level));
  }
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  if (!std::filesystem::is_directory(options.folder, failed)) {
    throw ConfigError("[label cache] folder must be one or be made, got " +
                      options.folder.string());
  }
  state_ = std::make_unique<State>(std::move(options));
}

LabelCache::~LabelCache() = default;

bool LabelCache::get(const std::string& text, const Tensor& label, const Tensor& result) const {
  const std::string head = head_of(text, label, result);
  const std::filesystem::path path = state_->options.folder / file_name(head);
  bool found = false;
  std::error_code failed;
  if (std::filesystem::is_regular_file(path, failed)) {
    try {
      const std::uint64_t most = head.size() + ZSTD_compressBound(result.bytes());
      found = unpack(read_whole_file(path, "label cache", most), head, result);
      if (found) state_->folder.touch(path);
    } catch (const ResourceError&) {  // gone or not to be read: made again
    }
  }
  ++(found ? state_->hits : state_->misses);
  return found;
}

void LabelCache::put(const std::string& text, const Tensor& label, const Tensor& result) const {
  const std::string head = head_of(text, label, result);
  const std::vector<std::byte> file = packed(head, result, state_->options.level);
  if (file.empty() || !state_->folder.make_room(file.size())) return;
  try {
    write_file_atomically(state_->options.folder / file_name(head), file, {.who = "label cache"});
  } catch (const ResourceError&) {  // a full disk ends no run
    state_->folder.count_again();
  }
}

std::uint64_t LabelCache::hits() const noexcept {
  return state_->hits;
}

std::uint64_t LabelCache::misses() const noexcept {
  return state_->misses;
}

namespace detail {

std::string to_hex(const ContentHash& hash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.first, hash.second}) {
    for (int shift = 60; shift >= 0; shift -= 4)
      text += digits[half >> shift & 15U];
  }
  return text;
}

}  // namespace detail
}  // namespace headrace::inline v1
