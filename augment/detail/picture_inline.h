#pragma once

#include <headrace/augment/detail/picture.h>
#include <headrace/engine/sample/mask.h>

namespace headrace::inline v1::detail {

template <class Move>
void move_pixels(Sample& sample, const std::string& field, std::span<const std::string> masks,
                 std::int64_t height, std::int64_t width, const Move& move) {
  const Tensor from = sample[field];
  const Picture picture = picture_of(from, field);
  const Tensor to = sample.make(field, DType::uint8, Shape{height, width, picture.channels});
  move(Raster{picture.data, picture.height, picture.width, picture.channels},
       to.data<std::uint8_t>());
  for (const std::string& name : masks) {
    const Tensor mask = mask_of(sample, name, picture.height, picture.width);
    const Tensor moved = sample.make(name, mask.dtype(), Shape{height, width});
    move(Raster{static_cast<const std::uint8_t*>(mask.raw()), picture.height, picture.width,
                static_cast<std::int64_t>(size_of(mask.dtype()))},
         static_cast<std::uint8_t*>(moved.raw()));
  }
}

}  // namespace headrace::inline v1::detail
