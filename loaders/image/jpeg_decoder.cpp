#include <headrace/loaders/image/jpeg_decoder.h>

// jerror.h needs jpeglib.h before it.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_entropy.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_input.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_memory.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scans.h>
#include <headrace/loaders/image/exif.h>
#include <headrace/loaders/image/pixel_buffer.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <jerror.h>

namespace headrace::inline v1 {
namespace {

/// Adobe writes CMYK inverted.
void cmyk_to_rgb(std::uint8_t* pixels, int count, bool inverted) {
  for (int i = 0; i < count; ++i, pixels += 4) {
    const unsigned flip = inverted ? 0U : 255U;
    const unsigned black = pixels[3] ^ flip;
    for (int c = 0; c < 3; ++c) {
      pixels[c] = static_cast<std::uint8_t>(((pixels[c] ^ flip) * black + 127) / 255);
    }
    pixels[3] = 255;
  }
}

/// Whether jpeg_crop_scanline gives right pixels: libjpeg-turbo 2.1 counts too few columns where a
/// smaller scale upsamples a component in part (4:1:0 and the like at 1/2 and 1/4).
bool can_crop_columns(const jpeg_decompress_struct& info, int scale) {
  const auto is_plain = [&info](const jpeg_component_info& component) {
    return 2 * component.h_samp_factor >= info.max_h_samp_factor &&
           2 * component.v_samp_factor >= info.max_v_samp_factor;
  };
  return scale == 1 || std::all_of(info.comp_info, info.comp_info + info.num_components, is_plain);
}

/// Pixels to each side of a crop whose decoding its own depends on: smooth upsampling looks at the
/// next chroma value, two pixels away. (jpeg_crop_scanline widens a crop to whole iMCUs.)
constexpr int smooth_reach = 2;

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

/// Of a row of pixels. The crop starts at an iMCU, which has at most 4 x 8 columns.
std::size_t row_bytes(int width) {
  return detail::PixelBuffer::padded(4 *
                                     static_cast<std::size_t>(width + 2 * smooth_reach + 4 * 8));
}

}  // namespace

struct JpegDecoder::State {
  /// What a decode is asked for and what it gives, in pixels of the scaled image.
  struct Job {
    int scale = 1;
    Region wanted;
    std::uint8_t* out = nullptr;
    std::size_t stride = 0;
    bool packed = false;              ///< `out` has 3 bytes a pixel, else 4
    std::span<const JpegRow> rows{};  ///< where the data is not in the file
    bool by_library = false;          ///< its entropy decoder is the one to use
    int first_column = 0;             ///< of `out`, set by the decode
    bool in_doubt = false;  ///< set by the decode: whether that is damage, the library judges
  };

  jpeg_decompress_struct info{};
  detail::JpegError error{};
  detail::JpegMemory memory;
  detail::JpegEntropy entropy;
  detail::JpegScans scans;
  jpeg_source_mgr source{};
  detail::PixelBuffer pixels;
  std::span<const std::byte> file;
  bool is_open = false;

  State();
  ~State() { jpeg_destroy_decompress(&info); }

  /// Runs library calls; every local of `work` must be trivially destructible, for errors jump out
  /// of it.
  template <class Work>
  void guarded(Work work);
  ImageHeader open(std::span<const std::byte> bytes);
  bool start(const Job& job);
  DecodedPixels decode(const Region& region, int scale, std::span<const JpegRow> rows);
  void perform(Job& job);
  void run(Job& job);
  bool finish(bool ours);
  void forget();
  void read_rows(std::uint8_t* out, std::size_t stride, int count);
};

JpegDecoder::State::State() {
  error.attach(info.err);
  detail::make_memory_source(source);
  if (setjmp(error.jump) != 0) {
    jpeg_destroy_decompress(&info);
    throw ResourceError("JPEG: no memory for a decoder");
  }
  jpeg_create_decompress(&info);
  memory.attach(info);
  info.src = &source;
  scans.attach(info);
}

/// Ends what was begun, and the tables with it: they lie in the image's memory.
void JpegDecoder::State::forget() {
  is_open = false;
  std::fill_n(info.quant_tbl_ptrs, NUM_QUANT_TBLS, nullptr);
  std::fill_n(info.dc_huff_tbl_ptrs, NUM_HUFF_TBLS, nullptr);
  std::fill_n(info.ac_huff_tbl_ptrs, NUM_HUFF_TBLS, nullptr);
  jpeg_abort_decompress(&info);
}

template <class Work>
void JpegDecoder::State::guarded(Work work) {
  if (setjmp(error.jump) != 0) {
    forget();
    if (error.base.msg_code == JERR_OUT_OF_MEMORY) {
      throw ResourceError("JPEG: no memory to decode it; use fewer threads or smaller images");
    }
    throw DataError(std::string("JPEG: ") + error.message);
  }
  work();
}

/// Whether the entropy decoder is ours.
bool JpegDecoder::State::start(const Job& job) {
  scans.begin();
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(job.scale);
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = cmyk ? JCS_CMYK : job.packed ? JCS_RGB : JCS_EXT_RGBX;
  jpeg_start_decompress(&info);
  detail::require_all_scans(info);
  const bool ours = !job.by_library && entropy.attach(info, job.rows);
  if (!ours && !job.rows.empty()) {
    detail::jpeg_fail(reinterpret_cast<j_common_ptr>(&info), "a crop index needs a baseline image");
  }
  return ours;
}

void JpegDecoder::State::read_rows(std::uint8_t* out, std::size_t stride, int count) {
  for (int done = 0; done < count;) {
    JSAMPROW rows[8];
    const int ask = std::min(count - done, 8);
    for (int i = 0; i < ask; ++i)
      rows[i] = out + stride * static_cast<std::size_t>(done + i);
    done += static_cast<int>(jpeg_read_scanlines(&info, rows, static_cast<JDIMENSION>(ask)));
  }
}

/// Decodes once, or once more where our own decoder fails or left something over. What is damage,
/// the library alone says: it overlooks some bytes before a marker, and some codes that stand for
/// nothing, and warns of others.
void JpegDecoder::State::perform(Job& job) {
  is_open = false;
  try {
    guarded([this, &job] { run(job); });
  } catch (const DataError&) {
    if (!job.in_doubt) throw;
  }
  if (!job.in_doubt) return;
  open(file);
  job.by_library = true;
  is_open = false;
  guarded([this, &job] { run(job); });
}

/// Behind the last row: reads on to the end marker, which is where the library warns of what does
/// not belong there. False where that is not known.
bool JpegDecoder::State::finish(bool ours) {
  const bool known = !ours || entropy.finish(info);
  if (known) jpeg_finish_decompress(&info);
  return known;
}

void JpegDecoder::State::run(Job& job) {
  const bool ours = start(job);
  job.in_doubt = ours && job.rows.empty();
  const Region& wanted = job.wanted;
  const int right =
      std::min<int>(wanted.x + wanted.width + smooth_reach, static_cast<int>(info.output_width));
  JDIMENSION first = static_cast<JDIMENSION>(std::max(0, wanted.x - smooth_reach));
  JDIMENSION width = static_cast<JDIMENSION>(right) - first;
  if (width < info.output_width) jpeg_crop_scanline(&info, &first, &width);
  job.first_column = static_cast<int>(first);
  if (wanted.y > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(wanted.y));
  read_rows(job.out, job.stride, wanted.height);
  if (info.out_color_space == JCS_CMYK) {
    for (int y = 0; y < wanted.height; ++y) {
      cmyk_to_rgb(job.out + job.stride * static_cast<std::size_t>(y),
                  static_cast<int>(info.output_width), info.saw_Adobe_marker != 0);
    }
  }
  const bool to_end = info.output_scanline == info.output_height && job.rows.empty();
  job.in_doubt = to_end && !finish(ours);
  jpeg_abort_decompress(&info);
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;

JpegDecoder& JpegDecoder::this_thread() {
  static thread_local JpegDecoder decoder;
  return decoder;
}

/// Reads the markers up to the data.
ImageHeader JpegDecoder::State::open(std::span<const std::byte> bytes) {
  forget();
  file = bytes;
  source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  source.bytes_in_buffer = file.size();
  guarded([this] { jpeg_read_header(&info, TRUE); });
  const ImageHeader header{.format = "JPEG",
                           .width = static_cast<int>(info.image_width),
                           .height = static_cast<int>(info.image_height),
                           .components = info.num_components,
                           .orientation = exif_orientation(file)};
  check_image_size(header.format, header.width, header.height);
  return header;
}

ImageHeader JpegDecoder::open(std::span<const std::byte> file) {
  State& state = *state_;
  state.pixels.trim();
  const ImageHeader header = state.open(file);
  if (!detail::has_end_marker(file.last(state.source.bytes_in_buffer))) {
    throw DataError("JPEG: the file ends before its image does (no end marker in " +
                    std::to_string(file.size()) + " bytes)");
  }
  if (!detail::can_hold(state.info, file.size())) {
    throw DataError("JPEG: " + std::to_string(file.size()) + " bytes cannot hold " +
                    std::to_string(header.width) + " x " + std::to_string(header.height) +
                    " pixels");
  }
  state.is_open = true;
  return header;
}

ImageHeader JpegDecoder::open_part(std::span<const std::byte> markers) {
  state_->pixels.trim();
  const ImageHeader header = state_->open(markers);
  state_->is_open = true;
  return header;
}

bool JpegDecoder::is_plain() const noexcept {
  const jpeg_decompress_struct& info = state_->info;
  if (!state_->is_open || info.progressive_mode || info.arith_code ||
      info.comps_in_scan != info.num_components) {
    return false;
  }
  if (info.num_components == 1) return true;
  const jpeg_component_info* parts = info.comp_info;
  const auto is_single = [](const jpeg_component_info& part) {
    return part.h_samp_factor == 1 && part.v_samp_factor == 1;
  };
  return info.num_components == 3 && info.jpeg_color_space == JCS_YCbCr &&
         parts[0].h_samp_factor <= 2 && parts[0].v_samp_factor <= 2 && is_single(parts[1]) &&
         is_single(parts[2]);
}

DecodedPixels JpegDecoder::decode(const Region& region, int scale) {
  return state_->decode(region, scale, {});
}

DecodedPixels JpegDecoder::decode_part(const Region& region, int scale,
                                       std::span<const JpegRow> rows) {
  return state_->decode(region, scale, rows);
}

DecodedPixels JpegDecoder::State::decode(const Region& region, int scale,
                                         std::span<const JpegRow> rows) {
  if (!is_open) throw DataError("JPEG: decode() without an open file");
  if (region.x + region.width > static_cast<int>(info.image_width) ||
      region.y + region.height > static_cast<int>(info.image_height)) {
    throw DataError("JPEG: a region reaches beyond its image");
  }
  const bool crops = can_crop_columns(info, scale);
  const int first_x = crops ? region.x : 0;
  const int last_x =
      ceil_div(crops ? region.x + region.width : static_cast<int>(info.image_width), scale);
  const int last_y = ceil_div(region.y + region.height, scale);
  Job job{.scale = scale, .wanted = {.x = first_x / scale, .y = region.y / scale}, .rows = rows};
  job.wanted.width = last_x - job.wanted.x;
  job.wanted.height = last_y - job.wanted.y;
  job.stride = row_bytes(job.wanted.width);
  job.out = pixels.reserve(job.stride * static_cast<std::size_t>(job.wanted.height));
  perform(job);
  return {.data = job.out + 4 * static_cast<std::size_t>(job.wanted.x - job.first_column),
          .stride = job.stride,
          .scale = scale,
          .region = job.wanted};
}

void JpegDecoder::decode_whole(std::uint8_t* rgb) {
  State& state = *state_;
  if (!state.is_open) throw DataError("JPEG: decode_whole() without an open file");
  const int width = static_cast<int>(state.info.image_width);
  const int height = static_cast<int>(state.info.image_height);
  const std::size_t stride = static_cast<std::size_t>(width) * 3;
  if (state.info.jpeg_color_space == JCS_CMYK || state.info.jpeg_color_space == JCS_YCCK) {
    const DecodedPixels pixels = decode({.width = width, .height = height}, 1);
    for (int y = 0; y < height; ++y) {
      const std::uint8_t* from = pixels.data + pixels.stride * static_cast<std::size_t>(y);
      std::uint8_t* to = rgb + stride * static_cast<std::size_t>(y);
      for (int x = 0; x < width; ++x, from += 4, to += 3)
        std::memcpy(to, from, 3);
    }
    return;
  }
  State::Job job{
      .wanted = {.width = width, .height = height}, .out = rgb, .stride = stride, .packed = true};
  state.perform(job);
}

std::size_t JpegDecoder::library_bytes() const {
  if (!state_->is_open) return 0;
  return line_bytes(static_cast<int>(state_->info.image_width)) +
         detail::coefficient_bytes(state_->info);
}

std::size_t JpegDecoder::line_bytes(int width) noexcept {
  constexpr std::size_t of_column = 256;  // rows before and behind upsampling, of all components
  return of_column * static_cast<std::size_t>(width);
}

std::size_t JpegDecoder::pixel_bytes(const Region& region, int scale) noexcept {
  // A column and a row more, where the region does not begin at a multiple of the scale.
  return row_bytes(ceil_div(region.width, scale) + 1) *
         static_cast<std::size_t>(region.height > 0 ? ceil_div(region.height, scale) + 1 : 0);
}

std::size_t JpegDecoder::bytes() const noexcept {
  return sizeof(State) + state_->pixels.size() + state_->memory.bytes();
}

}  // namespace headrace::inline v1
