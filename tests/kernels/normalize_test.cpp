// The fused kernel against its twin on the host and against plain arithmetic.
#include <headrace/augment/detail/normalize_task.h>
#include <headrace/tests/augment/pixels.h>

#include "kernel_device.h"
#include "plain_floats.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

struct NormalizeCase {
  int pictures;
  int height;
  int width;
  int channels;
  std::size_t shift = 0;      ///< of the input's address from an aligned one, in bytes
  std::size_t out_shift = 0;  ///< of the output's, in values
};

detail::NormalizeTask task_of(const NormalizeCase& one, DType dtype, bool first) {
  detail::NormalizeTask task{.dtype = dtype,
                             .channels_first = first,
                             .pictures = one.pictures,
                             .pixels = std::int64_t{one.height} * one.width,
                             .width = one.width,
                             .channels = one.channels};
  for (int c = 0; c < one.channels; ++c) {
    task.factor[c] = 0.01712475F + 0.0013F * static_cast<float>(c);
    task.offset[c] = -2.117904F + 0.27F * static_cast<float>(c);
  }
  return task;
}

/// Every value by the definition: a gain and a bias, a factor and an offset, each rounded.
std::vector<std::byte> by_definition(const detail::NormalizeTask& task, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::int64_t p = 0; p < task.pictures; ++p) {
    for (std::int64_t i = 0; i < task.pixels; ++i) {
      const std::int64_t x = i % task.width;
      const bool mirrored = task.flips != nullptr && task.flips[p] != 0;
      const std::int64_t to = mirrored ? i - x + task.width - 1 - x : i;
      for (int c = 0; c < task.channels; ++c) {
        volatile float factor = task.factor[c];
        volatile float offset = task.offset[c];
        if (task.levels != nullptr) {
          volatile const float product = factor * task.levels[2 * p + 1];
          offset = offset + product;
          factor = factor * task.levels[2 * p];
        }
        volatile const float product =
            static_cast<float>(task.from[(p * task.pixels + i) * task.channels + c]) * factor;
        const std::int64_t place =
            task.channels_first ? c * task.pixels + to : to * task.channels + c;
        write_plain(product + offset, task.dtype,
                    out.data() + static_cast<std::size_t>(p * task.pixels * task.channels + place) *
                                     size_of(task.dtype));
      }
    }
  }
  return out;
}

void check(const NormalizeCase& one, DType dtype, bool first, bool flips, bool levels) {
  CAPTURE(one.pictures);
  CAPTURE(one.height);
  CAPTURE(one.width);
  CAPTURE(one.channels);
  CAPTURE(one.shift);
  CAPTURE(one.out_shift);
  CAPTURE(name_of(dtype));
  CAPTURE(first);
  CAPTURE(flips);
  CAPTURE(levels);
  const Pixels from = noise(one.width, one.height * one.pictures, one.channels, 17);
  Pixels flip;
  std::vector<float> level;
  for (int p = 0; p < one.pictures; ++p) {
    flip.push_back(static_cast<std::uint8_t>(p % 3 != 2));
    level.insert(level.end(),
                 {0.5F + 0.1F * static_cast<float>(p % 7), static_cast<float>(p % 5) - 2.5F});
  }
  const std::size_t bytes = from.size() * size_of(dtype);
  std::vector<std::byte> twin(bytes);
  detail::NormalizeTask task = task_of(one, dtype, first);
  task.from = from.data();
  task.to = twin.data();
  if (flips) task.flips = flip.data();
  if (levels) task.levels = level.data();
  detail::normalize_on_host(task);
  const std::vector<std::byte> wanted = by_definition(task, bytes);
  REQUIRE(twin == wanted);

  const DeviceBytes source(from.data(), from.size(), one.shift);
  const DeviceBytes marks(flip.data(), flip.size());
  const DeviceBytes gains(level.data(), level.size() * sizeof(float));
  task.from = reinterpret_cast<const std::uint8_t*>(source.data());
  if (flips) task.flips = reinterpret_cast<const std::uint8_t*>(marks.data());
  if (levels) task.levels = reinterpret_cast<const float*>(gains.data());
  in_each_order([&] {
    const DeviceBytes result(nullptr, bytes, one.out_shift * size_of(dtype));
    task.to = result.data();
    run_kernel(detail::normalize_kernel, &task);
    REQUIRE(result.read() == wanted);
  });
}

void check_all(const NormalizeCase& one) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const bool first : {true, false})
      for (const int how : {0, 1, 2, 3})
        check(one, dtype, first, how % 2 != 0, how / 2 != 0);
}

}  // namespace

TEST_CASE("Normalised pictures of every number of channels have the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const int channels : {1, 2, 3, 4, 5, 16}) {
    check_all({3, 5, 7, channels});
    check_all({2, 16, 16, channels});
    check_all({2, 6, 33, channels, 1, 1});
  }
}

TEST_CASE("Normalised pictures of every shape have the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const NormalizeCase& one : {NormalizeCase{1, 1, 1, 3},
                                   {4, 7, 1, 3},
                                   {70, 3, 2, 3},
                                   {2, 30, 31, 3},
                                   {2, 9, 24, 4},
                                   {3, 17, 8, 1},
                                   {1, 3, 511, 3},
                                   {1, 2, 512, 3},
                                   {1, 3, 513, 3},
                                   {1, 2, 1100, 1},
                                   {1, 2, 341, 4},
                                   {1, 40, 50, 3}})
    check_all(one);
}

TEST_CASE("No address of pictures or values changes the bits") {
  if (!device_present()) return skip("kernels need a GPU");
  for (std::size_t shift = 0; shift < 16; ++shift) {
    const NormalizeCase one{
        3, 9, 29 + static_cast<int>(shift % 4), shift % 2 == 0 ? 3 : 4, shift, shift * 5 % 8};
    check(one, DType::bfloat16, true, true, true);
    check(one, DType::bfloat16, false, false, true);
    check(one, DType::float32, shift % 3 == 0, true, false);
  }
}

TEST_CASE("No pictures, and pictures without pixels, are nothing to do") {
  if (!device_present()) return skip("kernels need a GPU");
  check({0, 4, 4, 3}, DType::float32, true, true, true);
  check({3, 0, 4, 3}, DType::float16, false, false, false);
}

TEST_CASE("More pictures are normalised than a grid is high, each with its own flip and level") {
  if (!device_present()) return skip("kernels need a GPU");
  constexpr std::int64_t pictures = 65'537;
  constexpr std::int64_t values = 2 * 3 * 3;
  std::vector<std::uint8_t> from(pictures * values);
  std::vector<std::uint8_t> flips(pictures);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::uint8_t>(i * 7 + i / 977);
  for (std::size_t p = 0; p < flips.size(); ++p)
    flips[p] = static_cast<std::uint8_t>(p / 3 % 2);
  detail::NormalizeTask task = task_of({1, 2, 3, 3}, DType::float16, true);
  task.pictures = pictures;
  task.flips = flips.data();
  task.from = from.data();
  const std::vector<std::byte> wanted = by_definition(task, from.size() * 2);
  const DeviceBytes source(from.data(), from.size());
  const DeviceBytes marks(flips.data(), flips.size());
  const DeviceBytes result(nullptr, wanted.size());
  task.from = reinterpret_cast<const std::uint8_t*>(source.data());
  task.flips = reinterpret_cast<const std::uint8_t*>(marks.data());
  task.to = result.data();
  run_kernel(detail::normalize_kernel, &task);
  CHECK(result.read() == wanted);
}

TEST_CASE("Places beyond 2^31 pixels, in one picture and in many, are the right ones") {
  if (!device_present()) return skip("kernels need a GPU");
  struct Vast {
    std::int64_t pictures;
    std::int64_t height;
    std::int64_t width;
    bool flips;
  };
  // One picture in flat tiles; one of rows that are cut; half a million pictures.
  for (const Vast& one :
       {Vast{1, 46'343, 46'343, false}, {1, 3, 715'827'903, true}, {524'300, 64, 65, true}}) {
    CAPTURE(one.pictures);
    detail::NormalizeTask task = task_of({1, 1, 1, 1}, DType::bfloat16, true);
    task.pictures = one.pictures;
    task.pixels = one.height * one.width;
    task.width = one.width;
    const auto all = static_cast<std::size_t>(one.pictures * task.pixels);
    const VastBytes source(all);
    const VastBytes result(all * 2);
    const VastBytes marks(static_cast<std::size_t>(one.pictures));
    if (source.data() == nullptr || result.data() == nullptr)
      return skip("needs 7 GB of the device");
    // What is checked are the last pixels; mirrored, they are the first of their row.
    const auto width = static_cast<std::size_t>(one.width);
    const std::size_t count = std::min<std::size_t>(700, one.flips ? width : all);
    const std::size_t place = all - count;
    const std::size_t to = one.flips ? all - width : place;
    const Pixels levels = noise(static_cast<int>(count), 1, 1, 3);
    const std::uint8_t mark = 1;
    const auto put = [](std::byte* at, const std::uint8_t* from, std::size_t bytes) {
      const detail::DeviceScope scope(Device::cuda(0));
      detail::copy_to_device(at, reinterpret_cast<const std::byte*>(from), bytes, {});
      detail::drain(Stream{});
    };
    put(source.data() + place, levels.data(), count);
    put(marks.data() + one.pictures - 1, &mark, 1);
    task.from = reinterpret_cast<const std::uint8_t*>(source.data());
    task.to = result.data();
    if (one.flips) task.flips = reinterpret_cast<const std::uint8_t*>(marks.data());
    run_kernel(detail::normalize_kernel, &task, 3);

    detail::NormalizeTask small =
        task_of({1, 1, static_cast<int>(count), 1}, DType::bfloat16, true);
    small.from = levels.data();
    small.flips = one.flips ? &mark : nullptr;
    const std::vector<std::byte> wanted = by_definition(small, count * 2);
    CHECK(bytes_on_device(result.data() + to * 2, count * 2) == wanted);
  }
}

}  // namespace headrace::test

TEST_SUITE_END();
