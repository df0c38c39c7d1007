#include <headrace/benchmarks/volumes/codec_alone.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <blosc2.h>

namespace headrace::inline v1::bench {

namespace {

using Bytes = std::vector<std::byte>;

class Chunks final : public PackedBlocks {
 public:
  Chunks(std::vector<Bytes> chunks, std::size_t bytes)
      : chunks_(std::move(chunks)), bytes_(bytes) {}

  std::size_t count() const override { return chunks_.size(); }
  std::size_t largest() const override { return bytes_; }
  Decode decoder() const override {
    const std::shared_ptr<blosc2_context> context(blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS),
                                                  blosc2_free_ctx);
    return [this, context](std::size_t i, std::span<std::byte> out) {
      const int made = blosc2_decompress_ctx(context.get(), chunks_[i].data(),
                                             static_cast<std::int32_t>(chunks_[i].size()),
                                             out.data(), static_cast<std::int32_t>(out.size()));
      return static_cast<std::size_t>(std::max(0, made));
    };
  }

 private:
  std::vector<Bytes> chunks_;
  std::size_t bytes_;
};

}  // namespace

std::shared_ptr<const PackedBlocks> blosc2_blocks(const std::filesystem::path& file) {
  static const bool begun = (blosc2_init(), true);
  static_cast<void>(begun);
  blosc2_schunk* all = blosc2_schunk_open(file.c_str());
  if (all == nullptr) throw DataError("[benchmark] Blosc2 cannot open " + file.string());
  std::vector<Bytes> chunks;
  for (std::int64_t i = 0; i < all->nchunks; ++i) {
    std::uint8_t* chunk = nullptr;
    bool mine = false;
    const int bytes = blosc2_schunk_get_chunk(all, i, &chunk, &mine);
    if (bytes <= 0) throw DataError("[benchmark] Blosc2 cannot read " + file.string());
    const auto* from = reinterpret_cast<const std::byte*>(chunk);
    chunks.emplace_back(from, from + bytes);
    if (mine) std::free(chunk);
  }
  const auto largest = static_cast<std::size_t>(all->chunksize);
  blosc2_schunk_free(all);
  return std::make_shared<const Chunks>(std::move(chunks), largest);
}

}  // namespace headrace::inline v1::bench
