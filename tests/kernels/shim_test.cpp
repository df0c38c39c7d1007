// The shim itself: barriers mean something, and what lacks one gives other bytes in some order.
#include "shim/shim.h"

#include <headrace/engine/device/internal/launch.h>
#include <headrace/tests/transfer/cuda_stand_in.h>

#include "shim/grid.h"

#include <vector>

#include <doctest/doctest.h>

namespace headrace::test::kernels {
namespace {

constexpr unsigned threads = 96;

/// Each thread's value, turned round in its warp, its block, or by a shuffle.
enum class How : unsigned char { warp, unsynchronised, block, shuffled };

struct Stage {
  unsigned values[threads];
};

void turn(How how, unsigned* out) {
  Stage& stage = detail::block_memory<Stage>();
  const unsigned i = threadIdx.x;
  const unsigned all = blockIdx.x * threads;
  const unsigned lane = i % 32;
  for (unsigned round = 0; round < 3; ++round) {
    unsigned read = 0;
    if (how == How::shuffled) {
      read = __shfl_sync(0xffffffffU, all + i + round, 31 - static_cast<int>(lane));
    } else {
      stage.values[i] = all + i + round;
      if (how == How::warp) __syncwarp();
      if (how == How::block) __syncthreads();
      read = stage.values[how == How::block ? threads - 1 - i : i - lane + 31 - lane];
      if (how == How::warp) __syncwarp();
      if (how == How::block) __syncthreads();
    }
    out[(all + i) * 3 + round] = read;
  }
}

std::vector<unsigned> turned(How how, Order order, unsigned blocks = 3) {
  use({.order = order, .seed = 5});
  std::vector<unsigned> out(std::size_t{3} * blocks * threads);
  device::TrainerStream stream;
  const headrace::Stream handle = stream;
  const auto status = detail::launch_grid(
      turn, {blocks, threads, static_cast<cudaStream_t>(handle.handle)}, how, out.data());
  CHECK(status == cudaSuccess);
  stream.finish();
  use({});
  return out;
}

std::vector<unsigned> wanted(How how) {
  std::vector<unsigned> out;
  for (unsigned i = 0; i < 3 * threads; ++i) {
    const unsigned in_block = i % threads;
    const unsigned partner =
        how == How::block ? threads - 1 - in_block : in_block / 32 * 32 + 31 - in_block % 32;
    for (unsigned round = 0; round < 3; ++round)
      out.push_back(i - in_block + partner + round);
  }
  return out;
}

TEST_CASE("Barriers of a warp and of a block, and shuffles, hold in every order of threads") {
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    for (const How how : {How::warp, How::block, How::shuffled})
      CHECK(turned(how, order) == wanted(how));
  }
}

TEST_CASE("A kernel without its barrier gives wrong bytes") {
  for (const Order order : {Order::forward, Order::backward, Order::shuffled})
    CHECK(turned(How::unsynchronised, order) != wanted(How::warp));
}

TEST_CASE("A launch that a device would refuse is refused") {
  CHECK(detail::launch_grid(turn, {0, threads}, How::warp, nullptr) != cudaSuccess);
  CHECK(detail::launch_grid(turn, {1, 1025}, How::warp, nullptr) != cudaSuccess);
  CHECK(detail::launch_grid(turn, {{1, 65536}, 32}, How::warp, nullptr) != cudaSuccess);
}

TEST_CASE("Part of a grid may be run alone") {
  use({.first_block = 1, .last_block = 2});
  std::vector<unsigned> out(std::size_t{9} * threads);
  device::TrainerStream stream;
  const headrace::Stream handle = stream;
  const auto before = launches();
  detail::launch_grid(turn, {3, threads, static_cast<cudaStream_t>(handle.handle)}, How::block,
                      out.data());
  stream.finish();
  use({});
  CHECK(launches() == before + 1);
  CHECK(blocks_of_last_launch() == 3);
  CHECK(out.front() == 0);
  CHECK(out[std::size_t{3} * threads] != 0);
  CHECK(out.back() == 0);
}

}  // namespace
}  // namespace headrace::test::kernels
