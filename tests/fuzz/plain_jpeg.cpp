#include <headrace/tests/fuzz/plain_jpeg.h>

// jpeglib.h needs FILE and size_t before it.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace headrace::test {
namespace {

struct Errors {
  jpeg_error_mgr base;  // first: the library hands out a pointer to it
  std::jmp_buf jump;
  char first[JMSG_LENGTH_MAX];
};

void note(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  if (errors->first[0] == '\0') errors->base.format_message(info, errors->first);
}

[[noreturn]] void on_error(j_common_ptr info) {
  note(info);
  std::longjmp(reinterpret_cast<Errors*>(info->err)->jump, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level < 0) note(info);
}

/// Whether a coefficient was left out, or not refined to its last bit. (ISO/IEC 10918-1, G.1.)
bool lacks_scans(const jpeg_decompress_struct& info) {
  if (info.coef_bits == nullptr) return false;
  for (int c = 0; c < info.num_components; ++c) {
    for (int i = 0; i < DCTSIZE2; ++i)
      if (info.coef_bits[c][i] != 0) return true;
  }
  return false;
}

/// Adobe stores CMYK inverted.
void ink_to_rgb(PlainJpeg& out, const std::vector<std::uint8_t>& ink, bool inverted) {
  for (std::size_t i = 0; i < ink.size(); i += 4) {
    const auto value = [&](std::size_t c) { return inverted ? ink[i + c] : 255 - ink[i + c]; };
    for (std::size_t c = 0; c < 3; ++c)
      out.rgb.push_back(static_cast<std::uint8_t>((value(c) * value(3) + 127) / 255));
  }
}

/// One decode; no local of run() has a destructor, for errors jump out of it.
class Decode {
 public:
  Decode(std::span<const std::byte> file, std::size_t most_pixels)
      : file_(file), most_pixels_(most_pixels) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = on_error;
    errors_.base.emit_message = on_message;
    jpeg_create_decompress(&info_);
  }
  ~Decode() { jpeg_destroy_decompress(&info_); }
  Decode(const Decode&) = delete;
  Decode& operator=(const Decode&) = delete;

  PlainJpeg take() {
    if (setjmp(errors_.jump) == 0) run();
    out_.complaint = errors_.first;
    if (ink_ && out_.sound()) {
      const std::vector<std::uint8_t> ink = std::move(out_.rgb);
      out_.rgb.clear();
      ink_to_rgb(out_, ink, info_.saw_Adobe_marker != FALSE);
    }
    return std::move(out_);
  }

 private:
  void run() {
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
    jpeg_read_header(&info_, TRUE);
    out_.width = static_cast<int>(info_.image_width);
    out_.height = static_cast<int>(info_.image_height);
    if (std::size_t{info_.image_width} * info_.image_height > most_pixels_) {
      out_.skipped = true;
      return;
    }
    ink_ = info_.num_components == 4;
    info_.out_color_space = ink_ ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    out_.incomplete = lacks_scans(info_);
    const std::size_t row = info_.output_width * static_cast<std::size_t>(info_.output_components);
    out_.rgb.resize(row * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW to = out_.rgb.data() + row * info_.output_scanline;
      jpeg_read_scanlines(&info_, &to, 1);
    }
    jpeg_finish_decompress(&info_);
  }

  std::span<const std::byte> file_;
  std::size_t most_pixels_;
  jpeg_decompress_struct info_{};
  Errors errors_{};
  bool ink_ = false;
  PlainJpeg out_;
};

}  // namespace

PlainJpeg decode_plain(std::span<const std::byte> file, std::size_t most_pixels) {
  return Decode(file, most_pixels).take();
}

}  // namespace headrace::test
