#include <headrace/loaders/image/detail/jpeg/jpeg_internals.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scans.h>
#include <headrace/loaders/image/image_header.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

std::int64_t blocks_of(const jpeg_component_info& component) {
  return std::int64_t{component.width_in_blocks} * component.height_in_blocks;
}

JDIMENSION round_up(JDIMENSION value, int unit) {
  const auto step = static_cast<JDIMENSION>(unit);
  return (value + step - 1) / step * step;
}

}  // namespace

void JpegScans::attach(jpeg_decompress_struct& info) noexcept {
  base_.progress_monitor = look;
  info.progress = &base_;
}

void JpegScans::begin() noexcept {
  scan_ = 0;
  blocks_ = 0;
}

void JpegScans::look(j_common_ptr common) {
  auto& self = *reinterpret_cast<JpegScans*>(common->progress);
  const auto& info = *reinterpret_cast<j_decompress_ptr>(common);
  if (!common->is_decompressor || info.input_scan_number == self.scan_) return;
  self.scan_ = info.input_scan_number;
  if (self.scan_ > ImageLimits::scans) jpeg_fail(common, "more scans than the limit of 100");
  for (int i = 0; i < info.comps_in_scan; ++i)
    self.blocks_ += blocks_of(*info.cur_comp_info[i]);
  if (self.blocks_ > ImageLimits::scan_blocks)
    jpeg_fail(common, "its scans go over more blocks than the limit of 67108864");
}

void require_all_scans(jpeg_decompress_struct& info) {
  if (!info.inputctl->has_multiple_scans) return;
  for (int i = 0; i < info.num_components; ++i) {
    bool whole = info.comp_info[i].quant_table != nullptr;  // kept when its first scan begins
    if (whole && info.progressive_mode) {
      const int(&precision)[DCTSIZE2] = info.coef_bits[i];  // bits to come; -1: no scan had it
      whole = std::all_of(precision, precision + DCTSIZE2, [](int bits) { return bits == 0; });
    }
    if (!whole) {
      jpeg_fail(reinterpret_cast<j_common_ptr>(&info),
                "scans are missing: not every coefficient came to its full precision");
    }
  }
}

std::size_t coefficient_bytes(const jpeg_decompress_struct& info) {
  if (!info.inputctl->has_multiple_scans) return 0;
  std::size_t bytes = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& part = info.comp_info[i];
    bytes += std::size_t{round_up(part.width_in_blocks, part.h_samp_factor)} *
             round_up(part.height_in_blocks, part.v_samp_factor) * sizeof(JBLOCK);
  }
  return bytes;
}

}  // namespace headrace::inline v1::detail
