#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/crc32c.h>
#include <headrace/monitor/detail/event_record.h>

#include <bit>
#include <cstring>
#include <utility>

namespace headrace::inline v1::monitor::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::uint32_t mask_offset = 0xa282ead8U;
constexpr std::uint64_t rgb = 3;            // channels, as Summary.Image.colorspace says them
constexpr std::uint64_t session_start = 1;  // SessionLog.START
constexpr std::string_view png_signature("\x89PNG\r\n\x1a\n", 8);
constexpr std::size_t png_head = 33;  // bytes up to the end of IHDR, which has the sides at 16

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (const std::byte byte : bytes)
    number = number << 8 | std::to_integer<std::uint64_t>(byte);
  return number;
}

template <class Number>
void append(std::string& bytes, Number number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

// A protocol buffer in the making: fields by their number, in the order of the calls.
class Message {
 public:
  void whole(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
  }
  void real(int field, double value) {
    key(field, 1);
    append(bytes_, value);
  }
  void real32(int field, float value) {
    key(field, 5);
    append(bytes_, value);
  }
  void text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, const Message& value) { text(field, value.bytes_); }

  std::string bytes() && { return std::move(bytes_); }

 private:
  void key(int field, int wire_type) {
    varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
  }
  void varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

Message event(const EventStamp& stamp) {
  Message event;
  event.real(1, stamp.wall_time);
  event.whole(2, static_cast<std::uint64_t>(stamp.step));
  return event;
}

// Event.summary of one Summary.Value.
std::string summary_event(const EventStamp& stamp, const Message& value) {
  Message summary;
  summary.message(1, value);
  Message whole = event(stamp);
  whole.message(5, summary);
  return std::move(whole).bytes();
}

std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(headrace::detail::crc32c(std::as_bytes(std::span(bytes))), 15) + mask_offset;
}

}  // namespace

std::string version_event(double wall_time) {
  Message event;
  event.real(1, wall_time);
  event.text(3, "brain.Event:2");
  return std::move(event).bytes();
}

std::string restart_event(const EventStamp& stamp) {
  Message log;
  log.whole(1, session_start);
  Message whole = event(stamp);
  whole.message(7, log);
  return std::move(whole).bytes();
}

std::string scalar_event(const EventStamp& stamp, std::string_view tag, double value) {
  Message scalar;
  scalar.text(1, tag);
  scalar.real32(2, static_cast<float>(value));
  return summary_event(stamp, scalar);
}

std::string image_event(const EventStamp& stamp, std::string_view tag,
                        std::span<const std::byte> png) {
  const std::string_view file(reinterpret_cast<const char*>(png.data()), png.size());
  if (png.size() < png_head || !file.starts_with(png_signature))
    throw ConfigError("[event file] " + std::string(tag) + ": must be a PNG file, got " +
                      std::to_string(png.size()) + " bytes of something else");
  Message pixels;
  pixels.whole(1, big_endian(png.subspan(20, 4)));
  pixels.whole(2, big_endian(png.subspan(16, 4)));
  pixels.whole(3, rgb);
  pixels.text(4, file);
  Message value;
  value.text(1, tag);
  value.message(4, pixels);
  return summary_event(stamp, value);
}

std::string record_of(std::string_view message) {
  std::string record;
  record.reserve(message.size() + 16);
  append(record, static_cast<std::uint64_t>(message.size()));
  append(record, masked_crc(record));
  record += message;
  append(record, masked_crc(message));
  return record;
}

}  // namespace headrace::inline v1::monitor::detail
