// Patches cut from boxes on a device, against the host's and against arithmetic of the test's own.
#include <headrace/loaders/volume/internal/resample_task.h>

#include "dice.h"
#include "kernel_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

using headrace::detail::PatchMap;
using headrace::detail::ResampleTask;
using headrace::detail::Resampling;

constexpr headrace::detail::Kernel resample_kernel{"test", "headrace_resample_patches"};
constexpr std::size_t slack = 8;  // what the host may read behind a box

struct ResampleCase {
  ResampleTask task{};
  std::vector<PatchMap> maps{};
  std::vector<float> displacements{};
  std::vector<std::int64_t> box_offsets{};
  std::vector<std::int64_t> displacement_offsets{};
  std::vector<float> values{};
  std::vector<std::byte> boxes{};
};

/// A voxel that its type can hold; of labels a few values only.
void put_voxel(std::vector<std::byte>& to, std::size_t at, DType type, int value) {
  const auto put = [&](auto voxel) { std::memcpy(to.data() + at, &voxel, sizeof voxel); };
  if (type == DType::uint8) put(static_cast<std::uint8_t>(value & 0xff));
  if (type == DType::int16) put(static_cast<std::int16_t>(value - 300));
  if (type == DType::uint16) put(static_cast<std::uint16_t>(value * 60));
  if (type == DType::float32) put(static_cast<float>(value) * 0.37F);
}

void add_displacement(ResampleCase& made, PatchMap& map, Dice& dice) {
  const double spacing = 2.0 + 5.0 * dice.part();
  map.knots_per_voxel = static_cast<float>(1.0 / spacing);
  std::size_t count = 3;
  for (int axis = 0; axis < 3; ++axis) {
    map.knots[axis] = static_cast<std::int32_t>((made.task.patch[axis] - 1) / spacing) + 5;
    count *= static_cast<std::size_t>(map.knots[axis]);
  }
  for (std::size_t i = 0; i < count; ++i)
    made.displacements.push_back(static_cast<float>(6.0 * dice.part() - 3.0));
}

PatchMap draw_map(ResampleCase& made, Dice& dice, int number) {
  PatchMap map{};
  for (int axis = 0; axis < 3; ++axis) {
    map.box_shape[axis] = dice.between(1, 14);
    map.origin[axis] = 16.0 * dice.part() - 3.0;
    for (int of = 0; of < 3; ++of)
      map.matrix[3 * axis + of] = 1.4 * dice.part() - 0.7;
  }
  if (number % 3 == 1) {  // a copy, mirrored or not
    for (int i = 0; i < 9; ++i)
      map.matrix[i] = i % 4 == 0 ? (dice.between(0, 1) != 0 ? 1.0 : -1.0) : 0.0;
    for (double& place : map.origin)
      place = std::floor(place) + (number == 4 ? 0.5 : 0.0);  // of labels then equal weights
  }
  if (number % 3 == 2) add_displacement(made, map, dice);
  if (dice.between(0, 15) == 0) map = {};  // no sample
  return map;
}

ResampleCase draw_case(unsigned seed) {
  Dice dice(seed);
  ResampleCase made;
  made.task.samples = dice.between(1, 4);
  made.task.channels = dice.between(1, 3);
  constexpr DType types[] = {DType::uint8, DType::int16, DType::uint16, DType::float32};
  made.task.stored = types[seed % 4];
  made.task.how = static_cast<Resampling>(seed / 4 % 3);
  made.task.patch[0] = dice.between(1, 5);
  made.task.patch[1] = dice.between(1, 6);
  made.task.patch[2] = dice.between(1, 70);
  const std::size_t element = size_of(made.task.stored);
  for (std::int64_t s = 0; s < made.task.samples; ++s) {
    made.displacement_offsets.push_back(static_cast<std::int64_t>(made.displacements.size()));
    PatchMap map = draw_map(made, dice, dice.between(0, 5));
    std::copy_n(made.task.patch, 3, map.patch);
    if (dice.between(0, 20) == 0) ++map.patch[1];  // of another patch: nothing
    const std::size_t first = made.boxes.size();
    made.box_offsets.push_back(static_cast<std::int64_t>(first / element));
    const std::size_t voxels =
        static_cast<std::size_t>(map.box_shape[0]) * static_cast<std::size_t>(map.box_shape[1]) *
        static_cast<std::size_t>(map.box_shape[2]) * static_cast<std::size_t>(made.task.channels);
    made.boxes.resize(made.boxes.size() + (voxels * element + 3) / 4 * 4);
    const int most = made.task.how == Resampling::linear ? 999 : dice.between(0, 4);
    for (std::size_t i = 0; i < voxels; ++i) {
      put_voxel(made.boxes, first + i * element, made.task.stored, dice.between(0, most));
    }
    for (std::int64_t c = 0; c < made.task.channels; ++c) {
      made.values.push_back(static_cast<float>(0.5 + dice.part()));
      made.values.push_back(static_cast<float>(dice.part()));
    }
    made.maps.push_back(map);
  }
  return made;
}

std::size_t result_bytes(const ResampleTask& task) {
  const std::size_t element = task.how == Resampling::linear ? sizeof(float) : size_of(task.stored);
  return static_cast<std::size_t>(task.samples * task.channels) *
         static_cast<std::size_t>(task.patch[0]) * static_cast<std::size_t>(task.patch[1]) *
         static_cast<std::size_t>(task.patch[2]) * element;
}

std::vector<std::byte> on_host(const ResampleCase& made, int target = -1) {
  std::vector<std::byte> boxes = made.boxes;
  boxes.resize(boxes.size() + slack);
  std::vector<std::byte> out(result_bytes(made.task), std::byte{0x55});
  ResampleTask task = made.task;
  task.boxes = boxes.data();
  task.box_offsets = made.box_offsets.data();
  task.displacements = made.displacements.data();
  task.displacement_offsets = made.displacement_offsets.data();
  task.maps = made.maps.data();
  task.values = made.values.data();
  task.to = out.data();
  const std::int64_t rows = task.samples * task.patch[0] * task.patch[1];
  if (!headrace::detail::resample_rows(task, 0, rows, target)) out.clear();
  return out;
}

double voxel_of(const ResampleCase& made, std::size_t sample, std::int64_t channel,
                std::array<std::int64_t, 3> at) {
  const PatchMap& map = made.maps[sample];
  for (std::size_t axis = 0; axis < 3; ++axis)
    at[axis] = std::clamp<std::int64_t>(at[axis], 0, map.box_shape[axis] - 1);
  const std::int64_t number =
      ((channel * map.box_shape[0] + at[0]) * map.box_shape[1] + at[1]) * map.box_shape[2] + at[2];
  const std::byte* from =
      made.boxes.data() +
      (made.box_offsets[sample] + number) * static_cast<std::int64_t>(size_of(made.task.stored));
  const auto get = [&](auto voxel) {
    std::memcpy(&voxel, from, sizeof voxel);
    return static_cast<double>(voxel);
  };
  switch (made.task.stored) {
    case DType::uint8:
      return get(std::uint8_t{});
    case DType::int16:
      return get(std::int16_t{});
    case DType::uint16:
      return get(std::uint16_t{});
    default:
      return get(float{});
  }
}

/// The displacement as its definition says: all 64 knots around a voxel.
std::array<double, 3> displacement_of(const ResampleCase& made, std::size_t sample,
                                      const std::array<int, 3>& voxel) {
  const PatchMap& map = made.maps[sample];
  std::array<double, 3> moved{};
  if (map.knots[0] == 0) return moved;
  const auto spline = [](double far) {
    far = std::abs(far);
    if (far < 1.0) return 2.0 / 3.0 - far * far + far * far * far / 2.0;
    return far < 2.0 ? std::pow(2.0 - far, 3) / 6.0 : 0.0;
  };
  for (int z = 0; z < map.knots[0]; ++z) {
    for (int y = 0; y < map.knots[1]; ++y) {
      for (int x = 0; x < map.knots[2]; ++x) {
        const double weight = spline(voxel[0] * double{map.knots_per_voxel} + 1 - z) *
                              spline(voxel[1] * double{map.knots_per_voxel} + 1 - y) *
                              spline(voxel[2] * double{map.knots_per_voxel} + 1 - x);
        for (int axis = 0; axis < 3; ++axis) {
          moved[static_cast<std::size_t>(axis)] +=
              weight * made.displacements[static_cast<std::size_t>(
                           made.displacement_offsets[sample] +
                           ((z * map.knots[1] + y) * 3 + axis) * map.knots[2] + x)];
        }
      }
    }
  }
  return moved;
}

/// A linear voxel in double precision.
double linear_at(const ResampleCase& made, std::int64_t sample, std::int64_t channel,
                 const std::array<int, 3>& voxel) {
  const auto at = static_cast<std::size_t>(sample);
  const PatchMap& map = made.maps[at];
  const std::array<double, 3> moved = displacement_of(made, at, voxel);
  if (map.box_shape[0] == 0 || map.patch[1] != made.task.patch[1]) return 0.0;
  std::array<std::int64_t, 3> low{};
  std::array<double, 3> share{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double place = map.origin[axis] + moved[axis];
    for (std::size_t of = 0; of < 3; ++of)
      place += map.matrix[3 * axis + of] * voxel[of];
    place = std::clamp(place, 0.0, double{map.box_shape[axis] - 1.0});
    low[axis] = static_cast<std::int64_t>(place);
    share[axis] = place - std::floor(place);
  }
  double sum = 0.0;
  for (int k = 0; k < 8; ++k) {
    const std::int64_t z = k / 4;
    const std::int64_t y = k / 2 % 2;
    const std::int64_t x = k % 2;
    sum += (z != 0 ? share[0] : 1 - share[0]) * (y != 0 ? share[1] : 1 - share[1]) *
           (x != 0 ? share[2] : 1 - share[2]) *
           voxel_of(made, at, channel, {low[0] + z, low[1] + y, low[2] + x});
  }
  const float* value =
      made.values.data() + static_cast<std::size_t>(sample * made.task.channels + channel) * 2;
  return sum * value[0] + value[1];
}

TEST_CASE("Resampled patches are what their definition says") {
  double furthest = 0.0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const ResampleCase made = draw_case(seed);
    if (made.task.how != Resampling::linear) continue;
    const std::vector<std::byte> found = on_host(made);
    const auto* at = reinterpret_cast<const float*>(found.data());
    for (std::int64_t s = 0; s < made.task.samples; ++s)
      for (std::int64_t c = 0; c < made.task.channels; ++c)
        for (int z = 0; z < made.task.patch[0]; ++z)
          for (int y = 0; y < made.task.patch[1]; ++y)
            for (int x = 0; x < made.task.patch[2]; ++x, ++at) {
              const double range = made.task.stored == DType::uint16 ? 60000.0 : 1000.0;
              furthest =
                  std::max(furthest, std::abs(*at - linear_at(made, s, c, {z, y, x})) / range);
            }
  }
  CHECK(furthest < 2e-5);
}

TEST_CASE("Every vector target resamples to the same bits") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const ResampleCase made = draw_case(seed);
    const std::vector<std::byte> best = on_host(made);
    int targets = 0;
    for (std::vector<std::byte> bytes = on_host(made, 0); !bytes.empty();
         bytes = on_host(made, ++targets))
      REQUIRE(bytes == best);
    CHECK(targets > 0);
  }
}

TEST_CASE("Resampled patches of every kind have the host's bits") {
  if (!device_present()) return skip("kernels need a GPU");
  for (unsigned seed = 0; seed < 72; ++seed) {
    CAPTURE(seed);
    const ResampleCase made = draw_case(seed);
    const std::vector<std::byte> wanted = on_host(made);
    const DeviceBytes boxes(made.boxes.data(), made.boxes.size());
    const DeviceBytes displacements(made.displacements.data(),
                                    made.displacements.size() * sizeof(float));
    const DeviceBytes box_offsets(made.box_offsets.data(),
                                  made.box_offsets.size() * sizeof(std::int64_t));
    const DeviceBytes displacement_offsets(made.displacement_offsets.data(),
                                           made.displacement_offsets.size() * sizeof(std::int64_t));
    const DeviceBytes maps(made.maps.data(), made.maps.size() * sizeof(PatchMap));
    const DeviceBytes values(made.values.data(), made.values.size() * sizeof(float));
    in_each_order([&] {
      const std::vector<std::byte> untouched(wanted.size(), std::byte{0x55});
      const DeviceBytes out(untouched.data(), untouched.size());
      ResampleTask task = made.task;
      task.boxes = boxes.data();
      task.box_offsets = reinterpret_cast<const std::int64_t*>(box_offsets.data());
      task.displacement_offsets =
          reinterpret_cast<const std::int64_t*>(displacement_offsets.data());
      task.displacements = reinterpret_cast<const float*>(displacements.data());
      task.maps = reinterpret_cast<const PatchMap*>(maps.data());
      task.values = reinterpret_cast<const float*>(values.data());
      task.to = out.data();
      detail::launch(resample_kernel, &task, Device::cuda(0), {});
      REQUIRE(out.read() == wanted);
    });
  }
}

}  // namespace
}  // namespace headrace::test

TEST_SUITE_END();
