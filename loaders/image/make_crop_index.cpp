#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/crop_index.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_output.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scans.h>
#include <headrace/loaders/image/exif.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/make_crop_index.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// jerror.h needs jpeglib.h before it.
#include <jerror.h>

namespace headrace::inline v1::detail {
namespace {

/// Coefficients of larger images are not held.
constexpr long most_transcode_memory = 1L << 30;

class Transcoder {
 public:
  Transcoder();
  ~Transcoder();
  Transcoder(const Transcoder&) = delete;
  Transcoder& operator=(const Transcoder&) = delete;

  std::vector<std::byte> run(std::span<const std::byte> jpeg);

 private:
  // These run below a setjmp: no local of theirs has a destructor.
  void read(const std::byte* data, std::size_t size);
  void write(int orientation);
  void write_orientation(int orientation);

  jpeg_decompress_struct in_{};
  jpeg_compress_struct out_{};
  JpegError error_{};
  JpegScans scans_;
  jvirt_barray_ptr* coefficients_ = nullptr;
  JpegOutput output_;
};

Transcoder::Transcoder() {
  error_.attach(in_.err);
  error_.attach(out_.err);
  if (setjmp(error_.jump) != 0) {
    jpeg_destroy_compress(&out_);
    jpeg_destroy_decompress(&in_);
    throw ResourceError("[pack] JPEG: no memory for a transcoder");
  }
  jpeg_create_decompress(&in_);
  jpeg_create_compress(&out_);
  in_.mem->max_memory_to_use = most_transcode_memory;
  scans_.attach(in_);
}

Transcoder::~Transcoder() {
  jpeg_destroy_compress(&out_);
  jpeg_destroy_decompress(&in_);
}

void Transcoder::read(const std::byte* data, std::size_t size) {
  jpeg_mem_src(&in_, reinterpret_cast<const unsigned char*>(data), size);
  jpeg_read_header(&in_, TRUE);
  if (in_.image_width > ImageLimits::side || in_.image_height > ImageLimits::side ||
      std::int64_t{in_.image_width} * in_.image_height > ImageLimits::pixels)
    jpeg_fail(reinterpret_cast<j_common_ptr>(&in_), "larger than the limits");
  coefficients_ = jpeg_read_coefficients(&in_);
  require_all_scans(in_);
}

// EXIF 2.3: one entry in IFD 0, tag 0x0112.
void Transcoder::write_orientation(int orientation) {
  const JOCTET block[] = {
      'E', 'x', 'i', 'f', 0,    0, 'M', 'M', 0, 42, 0, 0, 0,
      8,   0,   1,   1,   0x12, 0, 3,   0,   0, 0,  1, 0, static_cast<JOCTET>(orientation),
      0,   0,   0,   0,   0,    0};
  jpeg_write_marker(&out_, JPEG_APP0 + 1, block, sizeof block);
}

void Transcoder::write(int orientation) {
  output_.attach(out_);
  jpeg_copy_critical_parameters(&in_, &out_);
  // An Adobe marker that was not there would turn CMYK over.
  if (in_.num_components == 4) out_.write_Adobe_marker = in_.saw_Adobe_marker;
  if (out_.num_components == 1)
    out_.comp_info[0].h_samp_factor = out_.comp_info[0].v_samp_factor = 1;
  out_.optimize_coding = TRUE;
  jpeg_write_coefficients(&out_, coefficients_);
  if (orientation != 1) write_orientation(orientation);
  jpeg_finish_compress(&out_);
}

std::vector<std::byte> Transcoder::run(std::span<const std::byte> jpeg) {
  const int orientation = exif_orientation(jpeg);
  if (setjmp(error_.jump) != 0) {
    if (error_.base.msg_code == JERR_OUT_OF_MEMORY) {
      throw ResourceError("[pack] JPEG: no memory to index it; use fewer threads");
    }
    if (error_.base.msg_code == JERR_NO_BACKING_STORE)
      throw DataError("JPEG: its coefficients need more memory than the limit of 1 GiB");
    throw DataError(std::string("JPEG: ") + error_.message);
  }
  read(jpeg.data(), jpeg.size());
  write(orientation);
  const std::span<const std::byte> written = output_.bytes();
  return {written.begin(), written.end()};
}

/// The same DCT coefficients as a baseline JPEG of one scan without restart markers: AC tables made
/// for the image, DC tables that can write any difference (those of ISO/IEC 10918-1, K.3), no
/// metadata but JFIF's, Adobe's and the orientation. Decodes to the same pixels. Throws DataError
/// for a broken file and for what baseline cannot hold.
std::vector<std::byte> to_baseline_jpeg(std::span<const std::byte> jpeg) {
  return Transcoder().run(jpeg);
}

}  // namespace

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {

std::vector<std::byte> make_crop_indexed(std::span<const std::byte> jpeg,
                                         const CropIndexOptions& options) {
  std::vector<std::byte> file = detail::to_baseline_jpeg(jpeg);
  const std::vector<std::uint8_t> index =
      detail::CropIndex::make(file, exif_orientation(jpeg), options.segment_pixels);
  const std::size_t before = file.size();
  file.resize(before + index.size());
  std::transform(index.begin(), index.end(), file.begin() + static_cast<std::ptrdiff_t>(before),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  return file;
}

}  // namespace headrace::inline v1
