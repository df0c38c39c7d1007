#include <headrace/benchmarks/volumes/codec_alone.h>

namespace headrace::inline v1::bench {

std::shared_ptr<const PackedBlocks> blosc2_blocks(const std::filesystem::path& /*file*/) {
  return nullptr;
}

}  // namespace headrace::inline v1::bench
