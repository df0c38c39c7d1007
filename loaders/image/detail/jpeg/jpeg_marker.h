#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// The second byte of a JPEG marker; the first is 0xff.
struct JpegMarker {
  enum : std::uint8_t {
    tem = 0x01,
    sof0 = 0xc0,
    sof1 = 0xc1,
    dht = 0xc4,
    rst0 = 0xd0,
    soi = 0xd8,
    eoi = 0xd9,
    sos = 0xda,
    dqt = 0xdb,
    dri = 0xdd,
    app0 = 0xe0,
    app14 = 0xee,
    app15 = 0xef,
    comment = 0xfe,
  };
};

}  // namespace headrace::inline v1::detail
