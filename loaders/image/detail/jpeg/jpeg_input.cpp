#include <headrace/loaders/image/detail/jpeg/jpeg_input.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

boolean end_of_data(j_decompress_ptr info) {
  jpeg_fail(reinterpret_cast<j_common_ptr>(info), "the file ends before its image does");
}

void skip_data(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > info->src->bytes_in_buffer) end_of_data(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

void nothing(j_decompress_ptr) {}

}  // namespace

void make_memory_source(jpeg_source_mgr& source) noexcept {
  source.init_source = nothing;
  source.fill_input_buffer = end_of_data;
  source.skip_input_data = skip_data;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = nothing;
}

bool has_end_marker(std::span<const std::byte> scans) noexcept {
  for (std::size_t i = scans.size(); i-- > 1;) {
    if (scans[i] == std::byte{0xd9} && scans[i - 1] == std::byte{0xff}) return true;
  }
  return false;
}

bool can_hold(const jpeg_decompress_struct& info, std::size_t bytes) noexcept {
  std::size_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    blocks = std::max(blocks, std::size_t{component.width_in_blocks} * component.height_in_blocks);
  }
  return blocks / (info.arith_code ? 512 : 8) <= bytes;
}

}  // namespace headrace::inline v1::detail
