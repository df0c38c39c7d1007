#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include <headrace/loaders/image/decode_image.h>
#include <headrace/tests/loaders/image_files.h>

/// Decoding as a worker does it, for a comparison of devices.
namespace headrace::test {

inline Tensor as_tensor(const Bytes& file) {
  return Tensor::of(std::span(reinterpret_cast<const std::uint8_t*>(file.data()), file.size()),
                    Shape{static_cast<std::int64_t>(file.size())});
}

inline Pixels decoded(DecodeImage op, Device device, const Bytes& file, std::int64_t position = 0) {
  op.device = device;
  Sample sample;
  sample.set("image", as_tensor(file));
  Random random(RandomKey{.seed = 4, .position = position});
  op(sample, random);
  const Tensor& image = sample["image"];
  return {image.data<std::uint8_t>(), image.data<std::uint8_t>() + image.elements()};
}

/// Runs `work` on a thread of its own, which takes its decoders along when it ends.
template <class Work>
void on_a_thread(const Work& work) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

/// A photograph of the usual kind.
inline Bytes photograph(int width = 151, int height = 113, int h_samp = 2, int v_samp = 2) {
  return encode_jpeg({.width = width, .height = height, .h_samp = h_samp, .v_samp = v_samp},
                     picture(width, height, 3));
}

}  // namespace headrace::test
