#include <headrace/loaders/image/detail/jpeg_transcode.h>

// jpeglib.h needs FILE and size_t before it.
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdint>
#include <string>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/detail/jpeg_output.h>
#include <headrace/loaders/image/exif.h>
#include <headrace/loaders/image/image_header.h>

namespace headrace::inline v1::detail {
namespace {

struct ErrorManager {
  jpeg_error_mgr base;  // first: the library hands out a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* error = reinterpret_cast<ErrorManager*>(info->err);
  error->base.format_message(info, error->message);
  std::longjmp(error->jump, 1);
}

void fail_on_warning(j_common_ptr info, int level) {
  if (level < 0) fail(info);
}

void no_output(j_common_ptr) {}

void count_scans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= ImageLimits::scans) return;
  auto* error = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(error->message, sizeof error->message, "more scans than the limit of %d",
                ImageLimits::scans);
  std::longjmp(error->jump, 1);
}

struct DcTable {
  std::array<std::uint8_t, 17> bits;
};

// K.3.1: both tables hold the categories 0 to 11 in order.
constexpr DcTable dc_tables[2] = {
    {{0, 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0}},
    {{0, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}},
};

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
  void write(bool make_tables, int orientation);
  void set_dc_tables();
  void write_orientation(int orientation);

  jpeg_decompress_struct in_{};
  jpeg_compress_struct out_{};
  ErrorManager error_{};
  jpeg_progress_mgr progress_{};
  jvirt_barray_ptr* coefficients_ = nullptr;
  JpegOutput output_;
};

Transcoder::Transcoder() {
  in_.err = out_.err = jpeg_std_error(&error_.base);
  error_.base.error_exit = fail;
  error_.base.emit_message = fail_on_warning;
  error_.base.output_message = no_output;
  progress_.progress_monitor = count_scans;
  if (setjmp(error_.jump) != 0) {
    jpeg_destroy_compress(&out_);
    jpeg_destroy_decompress(&in_);
    throw ResourceError("[pack] JPEG: no memory for a transcoder");
  }
  jpeg_create_decompress(&in_);
  jpeg_create_compress(&out_);
  in_.progress = &progress_;
}

Transcoder::~Transcoder() {
  jpeg_destroy_compress(&out_);
  jpeg_destroy_decompress(&in_);
}

void Transcoder::read(const std::byte* data, std::size_t size) {
  jpeg_mem_src(&in_, reinterpret_cast<const unsigned char*>(data), size);
  jpeg_read_header(&in_, TRUE);
  if (in_.image_width > ImageLimits::side || in_.image_height > ImageLimits::side ||
      std::int64_t{in_.image_width} * in_.image_height > ImageLimits::pixels) {
    std::snprintf(error_.message, sizeof error_.message, "larger than the limits");
    std::longjmp(error_.jump, 1);
  }
  coefficients_ = jpeg_read_coefficients(&in_);
}

void Transcoder::set_dc_tables() {
  for (std::size_t t = 0; t < 2; ++t) {
    JHUFF_TBL*& table = out_.dc_huff_tbl_ptrs[t];
    if (table == nullptr) table = jpeg_alloc_huff_table(reinterpret_cast<j_common_ptr>(&out_));
    std::copy(dc_tables[t].bits.begin(), dc_tables[t].bits.end(), table->bits);
    for (int i = 0; i < 12; ++i)
      table->huffval[i] = static_cast<UINT8>(i);
    table->sent_table = FALSE;
  }
}

// EXIF 2.3: one entry in IFD 0, tag 0x0112.
void Transcoder::write_orientation(int orientation) {
  const JOCTET block[] = {
      'E', 'x', 'i', 'f', 0,    0, 'M', 'M', 0, 42, 0, 0, 0,
      8,   0,   1,   1,   0x12, 0, 3,   0,   0, 0,  1, 0, static_cast<JOCTET>(orientation),
      0,   0,   0,   0,   0,    0};
  jpeg_write_marker(&out_, JPEG_APP0 + 1, block, sizeof block);
}

void Transcoder::write(bool make_tables, int orientation) {
  output_.attach(out_);
  jpeg_copy_critical_parameters(&in_, &out_);
  // An Adobe marker that was not there would turn CMYK over.
  if (in_.num_components == 4) out_.write_Adobe_marker = in_.saw_Adobe_marker;
  if (out_.num_components == 1)
    out_.comp_info[0].h_samp_factor = out_.comp_info[0].v_samp_factor = 1;
  out_.optimize_coding = make_tables ? TRUE : FALSE;
  if (!make_tables) set_dc_tables();
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
    throw DataError(std::string("JPEG: ") + error_.message);
  }
  read(jpeg.data(), jpeg.size());
  write(true, orientation);
  write(false, orientation);
  const std::span<const std::byte> written = output_.bytes();
  return {written.begin(), written.end()};
}

}  // namespace

std::vector<std::byte> to_baseline_jpeg(std::span<const std::byte> jpeg) {
  return Transcoder().run(jpeg);
}

}  // namespace headrace::inline v1::detail
