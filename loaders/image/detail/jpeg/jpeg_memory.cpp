#include <headrace/loaders/image/detail/jpeg/jpeg_memory.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <jerror.h>

// What libjpeg knows by name only: the library never looks inside, its own manager did.
struct jvirt_barray_control {
  JBLOCKARRAY rows;
};

namespace headrace::inline v1::detail {

struct JpegMemory::Block {
  Block* next;
  std::size_t size;
  std::size_t used;
};

namespace {

constexpr std::size_t memory_unit = 64;

constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + memory_unit - 1) / memory_unit * memory_unit;
}

void* take_or_fail(j_common_ptr info, std::size_t bytes) {
  void* memory = static_cast<JpegMemory*>(info->client_data)->take(bytes);
  if (memory != nullptr) return memory;
  if (static_cast<JpegMemory*>(info->client_data)->starved()) {
    info->err->msg_code = JERR_OUT_OF_MEMORY;
    info->err->error_exit(info);
  }
  jpeg_fail(info, "needs more memory than the limit of 1 GiB for an image");
}

void* alloc(j_common_ptr info, int, std::size_t bytes) {
  return take_or_fail(info, bytes);
}

/// An array of pointers to rows of one piece of memory.
template <class Row>
Row* alloc_rows(j_common_ptr info, std::size_t row_bytes, JDIMENSION count) {
  const std::size_t stride = round_up(row_bytes);
  if (count != 0 && stride > JpegMemory::limit / count) {
    jpeg_fail(info, "needs more memory than the limit of 1 GiB for an image");
  }
  auto* rows = static_cast<Row*>(take_or_fail(info, sizeof(Row) * count));
  auto* memory = static_cast<std::uint8_t*>(take_or_fail(info, stride * count));
  for (JDIMENSION i = 0; i < count; ++i)
    rows[i] = reinterpret_cast<Row>(memory + stride * i);
  return rows;
}

// The library's vector code may write to the end of a 64-byte unit.
JSAMPARRAY alloc_samples(j_common_ptr info, int, JDIMENSION per_row, JDIMENSION rows) {
  return alloc_rows<JSAMPROW>(info, per_row * sizeof(JSAMPLE), rows);
}

JBLOCKARRAY alloc_blocks(j_common_ptr info, int, JDIMENSION per_row, JDIMENSION rows) {
  return alloc_rows<JBLOCKROW>(info, per_row * sizeof(JBLOCK), rows);
}

jvirt_sarray_ptr no_virtual_samples(j_common_ptr info, int, boolean, JDIMENSION, JDIMENSION,
                                    JDIMENSION) {
  jpeg_fail(info, "asks for colour quantisation");
}

jvirt_barray_ptr request_blocks(j_common_ptr info, int pool, boolean, JDIMENSION per_row,
                                JDIMENSION rows, JDIMENSION) {
  auto* array =
      static_cast<jvirt_barray_control*>(take_or_fail(info, sizeof(jvirt_barray_control)));
  array->rows = alloc_blocks(info, pool, per_row, rows);
  return array;
}

JBLOCKARRAY access_blocks(j_common_ptr, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION,
                          boolean) {
  return array->rows + first;
}

void nothing_to_realize(j_common_ptr) {}

void end_image(j_common_ptr info, int pool) {
  if (pool == JPOOL_IMAGE) static_cast<JpegMemory*>(info->client_data)->reset();
}

}  // namespace

JpegMemory::~JpegMemory() {
  release();
}

void JpegMemory::attach(jpeg_decompress_struct& info) {
  info.client_data = this;
  jpeg_memory_mgr& manager = *info.mem;
  manager.alloc_small = alloc;
  manager.alloc_large = alloc;
  manager.alloc_sarray = alloc_samples;
  manager.alloc_barray = alloc_blocks;
  manager.request_virt_sarray = no_virtual_samples;
  manager.request_virt_barray = request_blocks;
  manager.realize_virt_arrays = nothing_to_realize;
  manager.access_virt_barray = access_blocks;
  manager.free_pool = end_image;
}

void* JpegMemory::take(std::size_t bytes) noexcept {
  starved_ = false;
  if (bytes > limit) return nullptr;
  const std::size_t whole = round_up(bytes) + memory_unit;
  if (blocks_ == nullptr || blocks_->size - blocks_->used < whole) {
    const std::size_t size = round_up(sizeof(Block)) + std::max(whole, next_size_);
    if (size > limit - std::min(limit, held_)) return nullptr;
    auto* block = static_cast<Block*>(std::aligned_alloc(memory_unit, size));
    starved_ = block == nullptr;
    if (starved_) return nullptr;
    *block = {blocks_, size, round_up(sizeof(Block))};
    blocks_ = block;
    held_ += size;
  }
  void* memory = reinterpret_cast<std::uint8_t*>(blocks_) + blocks_->used;
  blocks_->used += whole;
  std::memset(memory, 0, whole);
  return memory;
}

void JpegMemory::reset() noexcept {
  if (blocks_ == nullptr) return;
  if (blocks_->next == nullptr && held_ <= 2 * kept) {
    blocks_->used = round_up(sizeof(Block));
    return;
  }
  // One block for all next time, unless this image was an unusual one.
  if (held_ <= kept) next_size_ = std::max(next_size_, held_);
  release();
}

void JpegMemory::release() noexcept {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
  held_ = 0;
}

}  // namespace headrace::inline v1::detail
