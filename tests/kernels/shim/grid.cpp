// Kernels on the host: a launch is queued on its stream as the stand-in's copies are; when the
// stream comes to it, each block runs as fibers, each of them up to its next barrier.
#include "grid.h"

#include <headrace/engine/device/internal/launch.h>
#include <headrace/tests/transfer/cuda_stand_in.h>

#include "fiber.h"
#include "shim.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace headrace::test::kernels {
namespace {

constexpr unsigned warp_lanes = 32;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "[kernel on the host] %s\n", what);
  std::abort();
}

enum class Wait : unsigned char { none, warp, shuffle, block };

struct Lane {
  std::unique_ptr<Fiber> fiber;
  uint3 index{};
  Wait wait = Wait::none;
  unsigned mask = 0;
  unsigned shuffles = 0;  ///< so far
  std::uint64_t given[2] = {};
};

struct FreeAligned {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(16)); }
};

struct Shared {
  const void* key;
  std::unique_ptr<std::byte, FreeAligned> memory;
};

struct Grid {
  detail::Launch how;
  std::function<void()> thread;
  Schedule schedule;
};

/// A block of a grid, and the fibers that its successors take over.
class Block {
 public:
  explicit Block(const Grid& grid);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void run(std::uint64_t number);
  /// On a fiber.
  void wait(Wait kind, unsigned mask);
  void* memory(const void* key, std::size_t bytes);
  std::uint64_t shuffle(unsigned mask, std::uint64_t value, int lane);

  const Grid& grid;
  Lane* lane = nullptr;  ///< the one that runs
  uint3 index{};

 private:
  bool pass();
  void try_release(unsigned number);
  void settle(unsigned number);
  bool complete(const Lane& waiting, unsigned first, unsigned last) const;

  std::vector<Lane> lanes_;
  std::vector<unsigned> order_;
  std::vector<Shared> shared_;
  std::mt19937 random_;
  std::uint64_t number_ = 0;
  unsigned waiting_ = 0;  ///< threads at a barrier
};

thread_local Block* running = nullptr;

std::mutex mutex;  // guards the rest
Schedule wanted;
std::vector<std::unique_ptr<Fiber>>& idle_fibers() {
  static auto* fibers = new std::vector<std::unique_ptr<Fiber>>();
  return *fibers;
}
std::atomic<std::int64_t> launched{0};
std::atomic<std::uint64_t> last_blocks{0};

std::uint64_t count(const dim3& size) {
  return std::uint64_t{size.x} * size.y * size.z;
}

Block::Block(const Grid& of) : grid(of), lanes_(count(of.how.block)), random_(of.schedule.seed) {
  const dim3& size = grid.how.block;
  std::lock_guard lock(mutex);
  auto& idle = idle_fibers();
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    lanes_[i].index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    if (idle.empty()) {
      lanes_[i].fiber = std::make_unique<Fiber>();
    } else {
      lanes_[i].fiber = std::move(idle.back());
      idle.pop_back();
    }
  }
  order_.resize(lanes_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  if (grid.schedule.order == Order::backward) std::reverse(order_.begin(), order_.end());
}

Block::~Block() {
  std::lock_guard lock(mutex);
  for (Lane& each : lanes_)
    idle_fibers().push_back(std::move(each.fiber));
}

void Block::run(std::uint64_t number) {
  const dim3& size = grid.how.grid;
  number_ = number;
  index = {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
           static_cast<unsigned>(number / size.x / size.y)};
  shared_.clear();
  for (Lane& each : lanes_) {
    each.fiber->begin(grid.thread);
    each.wait = Wait::none;
    each.shuffles = 0;
  }
  while (pass()) {
  }
  for (const Lane& each : lanes_)
    if (!each.fiber->ended()) give_up("threads wait at a barrier that others never reach");
}

/// Every thread that can runs up to its next barrier; false when none can.
bool Block::pass() {
  if (grid.schedule.order == Order::shuffled) std::shuffle(order_.begin(), order_.end(), random_);
  bool any = false;
  for (const unsigned number : order_) {
    Lane& next = lanes_[number];
    if (next.fiber->ended() || next.wait != Wait::none) continue;
    lane = &next;
    next.fiber->resume();
    any = true;
    settle(number);
  }
  return any;
}

/// Whether all living lanes of [first, last) that the waiting one names wait with it.
bool Block::complete(const Lane& waiting, unsigned first, unsigned last) const {
  for (unsigned i = first; i < last; ++i) {
    const Lane& other = lanes_[i];
    const bool named = waiting.wait == Wait::block || (waiting.mask >> (i - first) & 1U) != 0;
    if (!named || other.fiber->ended()) continue;
    if (other.wait == Wait::none) return false;
    if (waiting.wait == Wait::block && other.wait != Wait::block) return false;
    if (waiting.wait != Wait::block && (other.wait != waiting.wait || other.mask != waiting.mask))
      give_up("lanes of a warp wait at different barriers");
  }
  return true;
}

/// Lets go of a barrier that the waiting thread's arrival, or another's end, completes.
void Block::try_release(unsigned number) {
  const auto all = static_cast<unsigned>(lanes_.size());
  const bool block = lanes_[number].wait == Wait::block;
  const unsigned mask = lanes_[number].mask;
  const unsigned first = block ? 0 : number / warp_lanes * warp_lanes;
  const unsigned last = block ? all : std::min(first + warp_lanes, all);
  if (!complete(lanes_[number], first, last)) return;
  for (unsigned i = first; i < last; ++i) {
    if (lanes_[i].wait == Wait::none || (!block && (mask >> (i - first) & 1U) == 0)) continue;
    lanes_[i].wait = Wait::none;
    --waiting_;
  }
}

/// What follows from a thread that stopped just now.
void Block::settle(unsigned number) {
  if (lanes_[number].wait != Wait::none) return try_release(number);
  for (unsigned i = 0; i < lanes_.size() && waiting_ > 0; ++i)
    if (lanes_[i].wait != Wait::none) try_release(i);
}

void Block::wait(Wait kind, unsigned mask) {
  Lane& self = *lane;
  const auto number = static_cast<unsigned>(&self - lanes_.data());
  if (kind != Wait::block && (mask >> number % warp_lanes & 1U) == 0)
    give_up("a lane waits with a mask that does not name it");
  self.wait = kind;
  self.mask = mask;
  ++waiting_;
  self.fiber->suspend();
}

std::uint64_t Block::shuffle(unsigned mask, std::uint64_t value, int from) {
  Lane& self = *lane;
  const unsigned turn = self.shuffles++ % 2;  // nobody is two shuffles ahead
  self.given[turn] = value;
  wait(Wait::shuffle, mask);
  const auto first = static_cast<std::size_t>(&self - lanes_.data()) / warp_lanes * warp_lanes;
  return lanes_.at(first + static_cast<std::size_t>(from)).given[turn];
}

void* Block::memory(const void* key, std::size_t bytes) {
  for (const Shared& known : shared_)
    if (known.key == key) return known.memory.get();
  auto* made = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(16)));
  std::memset(made, static_cast<int>(0xA5U ^ (number_ & 0xffU)), bytes);
  shared_.push_back({key, std::unique_ptr<std::byte, FreeAligned>(made)});
  return made;
}

void run(const Grid& grid) {
  Block block(grid);
  running = &block;
  const std::uint64_t last = std::min(grid.schedule.last_block, count(grid.how.grid));
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = grid.schedule.first_block; i < last; ++i)
    numbers.push_back(i);
  if (grid.schedule.order == Order::backward) std::reverse(numbers.begin(), numbers.end());
  if (grid.schedule.order == Order::shuffled) {
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(grid.schedule.seed));
  }
  for (const std::uint64_t number : numbers)
    block.run(number);
  running = nullptr;
}

}  // namespace

const uint3& thread_index() {
  return running->lane->index;
}
const uint3& block_index() {
  return running->index;
}
const dim3& block_size() {
  return running->grid.how.block;
}
const dim3& grid_size() {
  return running->grid.how.grid;
}
void sync_warp(unsigned mask) {
  running->wait(Wait::warp, mask);
}
void sync_block() {
  running->wait(Wait::block, 0);
}
std::uint64_t shuffle(unsigned mask, std::uint64_t value, int lane) {
  return running->shuffle(mask, value, lane);
}

void use(const Schedule& schedule) {
  std::lock_guard lock(mutex);
  wanted = schedule;
}
std::int64_t launches() {
  return launched;
}
std::uint64_t blocks_of_last_launch() {
  return last_blocks;
}

}  // namespace headrace::test::kernels

namespace headrace::inline v1::detail {

namespace kernels = test::kernels;

cudaError_t launch_on_host(const Launch& how, std::function<void()> thread) {
  const dim3& block = how.block;
  const bool possible = kernels::count(how.grid) > 0 && how.grid.x <= 0x7fffffffU &&
                        how.grid.y <= 0xffffU && how.grid.z <= 0xffffU &&
                        kernels::count(block) > 0 && kernels::count(block) <= 1024 && block.z <= 64;
  if (!possible) return cudaErrorInvalidConfiguration;
  ++kernels::launched;
  kernels::last_blocks = kernels::count(how.grid);
  kernels::Grid grid{how, std::move(thread), {}};
  {
    std::lock_guard lock(kernels::mutex);
    grid.schedule = kernels::wanted;
  }
  test::device::run_on({how.stream}, [grid = std::move(grid)] { kernels::run(grid); });
  return cudaSuccess;
}

void* block_memory_on_host(const void* key, std::size_t bytes) {
  return kernels::running->memory(key, bytes);
}

}  // namespace headrace::inline v1::detail
