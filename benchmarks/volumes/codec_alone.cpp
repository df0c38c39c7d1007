#include <headrace/benchmarks/volumes/codec_alone.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

namespace headrace::inline v1::bench {

namespace {

using Bytes = std::vector<std::byte>;

struct Deflate {
  libdeflate_compressor* to = libdeflate_alloc_compressor(4);
  libdeflate_decompressor* from = libdeflate_alloc_decompressor();
  Deflate() = default;
  Deflate(const Deflate&) = delete;
  Deflate& operator=(const Deflate&) = delete;
  ~Deflate() {
    libdeflate_free_compressor(to);
    libdeflate_free_decompressor(from);
  }
};

struct Zstd {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  Zstd() = default;
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() { ZSTD_freeDCtx(context); }
};

Bytes packed(const Bytes& block, const std::string& codec) {
  Bytes out(block.size() + block.size() / 8 + 1024);
  std::size_t bytes = 0;
  if (codec == "zstd") {
    bytes = ZSTD_compress(out.data(), out.size(), block.data(), block.size(), 3);
  } else if (codec == "lz4") {
    bytes = static_cast<std::size_t>(LZ4_compress_default(
        reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(out.data()),
        static_cast<int>(block.size()), static_cast<int>(out.size())));
  } else {
    bytes =
        libdeflate_zlib_compress(Deflate().to, block.data(), block.size(), out.data(), out.size());
  }
  out.resize(bytes);
  out.shrink_to_fit();
  return out;
}

class Cubes final : public PackedBlocks {
 public:
  Cubes(std::vector<Bytes> blocks, std::size_t bytes, std::string codec)
      : blocks_(std::move(blocks)), bytes_(bytes), codec_(std::move(codec)) {}

  std::size_t count() const override { return blocks_.size(); }
  std::size_t largest() const override { return bytes_; }
  Decode decoder() const override {
    if (codec_ == "zstd") {
      return [this, zstd = std::make_shared<Zstd>()](std::size_t i, std::span<std::byte> out) {
        return ZSTD_decompressDCtx(zstd->context, out.data(), out.size(), blocks_[i].data(),
                                   blocks_[i].size());
      };
    }
    if (codec_ == "lz4") {
      return [this](std::size_t i, std::span<std::byte> out) {
        return static_cast<std::size_t>(
            std::max(0, LZ4_decompress_safe(reinterpret_cast<const char*>(blocks_[i].data()),
                                            reinterpret_cast<char*>(out.data()),
                                            static_cast<int>(blocks_[i].size()),
                                            static_cast<int>(out.size()))));
      };
    }
    return [this, deflate = std::make_shared<Deflate>()](std::size_t i, std::span<std::byte> out) {
      std::size_t bytes = 0;
      libdeflate_zlib_decompress(deflate->from, blocks_[i].data(), blocks_[i].size(), out.data(),
                                 out.size(), &bytes);
      return bytes;
    };
  }

 private:
  std::vector<Bytes> blocks_;
  std::size_t bytes_;
  std::string codec_;
};

}  // namespace

std::shared_ptr<const PackedBlocks> pack_blocks(const Voxels& volume, const std::string& codec) {
  constexpr std::int64_t side = 64;
  const auto& shape = volume.info.shape;
  const auto voxel = size_of(volume.info.dtype);
  const auto row = static_cast<std::size_t>(side) * voxel;
  std::vector<Bytes> blocks;
  Bytes block(row * side * side);
  for (std::int64_t z = 0; z < shape[1]; z += side) {
    for (std::int64_t y = 0; y < shape[2]; y += side) {
      for (std::int64_t x = 0; x < shape[3]; x += side) {
        std::ranges::fill(block, std::byte{0});
        const auto length = static_cast<std::size_t>(std::min(side, shape[3] - x)) * voxel;
        for (std::int64_t k = z; k < std::min(z + side, shape[1]); ++k) {
          for (std::int64_t j = y; j < std::min(y + side, shape[2]); ++j) {
            const auto from = static_cast<std::size_t>((k * shape[2] + j) * shape[3] + x) * voxel;
            const auto to = static_cast<std::size_t>((k - z) * side + j - y) * row;
            std::memcpy(block.data() + to, volume.bytes.data() + from, length);
          }
        }
        blocks.push_back(packed(block, codec));
      }
    }
  }
  return std::make_shared<const Cubes>(std::move(blocks), block.size(), codec);
}

double decode_all(const PackedBlocks& blocks, int threads, std::byte* to) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> failed{false};
  const auto thread = [&] {
    const auto decode = blocks.decoder();
    std::vector<std::byte> own(to == nullptr ? blocks.largest() : 0);
    for (std::size_t i = next++; i < blocks.count(); i = next++) {
      const std::span out(to == nullptr ? own.data() : to + i * blocks.largest(), blocks.largest());
      const std::size_t made = decode(i, out);
      if (made == 0 || made > out.size()) failed = true;
      bytes += made;
    }
  };
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(thread);
  all.clear();
  if (failed) throw DataError("[benchmark] a codec refuses what it has packed");
  return static_cast<double>(bytes);
}

}  // namespace headrace::inline v1::bench
