#include <headrace/loaders/image/detail/jpeg/jpeg_output.h>

#include <cstdlib>

#include <jerror.h>

namespace headrace::inline v1::detail {

namespace {

constexpr std::size_t first_room = 4096;

}  // namespace

JpegOutput::~JpegOutput() {
  std::free(memory_);
}

void JpegOutput::attach(jpeg_compress_struct& info) noexcept {
  base_.init_destination = begin;
  base_.empty_output_buffer = grow;
  base_.term_destination = end;
  size_ = 0;
  info.dest = &base_;
  info.client_data = this;
}

std::span<const std::byte> JpegOutput::bytes() const noexcept {
  return {reinterpret_cast<const std::byte*>(memory_), size_};
}

JpegOutput& JpegOutput::of(j_compress_ptr info) noexcept {
  return *static_cast<JpegOutput*>(info->client_data);
}

/// Makes room for as many bytes; those there are stay.
void JpegOutput::take(j_compress_ptr info, std::size_t room) {
  if (room > room_) {
    void* larger = std::realloc(memory_, room);
    if (larger == nullptr) {
      info->err->msg_code = JERR_OUT_OF_MEMORY;
      info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
    }
    memory_ = static_cast<unsigned char*>(larger);
    room_ = room;
  }
  base_.next_output_byte = memory_ + size_;
  base_.free_in_buffer = room_ - size_;
}

void JpegOutput::begin(j_compress_ptr info) {
  of(info).take(info, first_room);
}

/// The library calls this when no byte of the room is free.
boolean JpegOutput::grow(j_compress_ptr info) {
  JpegOutput& output = of(info);
  output.size_ = output.room_;
  output.take(info, 2 * output.room_);
  return TRUE;
}

void JpegOutput::end(j_compress_ptr info) {
  JpegOutput& output = of(info);
  output.size_ = output.room_ - output.base_.free_in_buffer;
}

}  // namespace headrace::inline v1::detail
