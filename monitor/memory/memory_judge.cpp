#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/memory_judge.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

constexpr double worth_saying_again = 2.0;

// What grows against what it must fit.
struct Filling {
  std::uint64_t most = 0;
  std::uint64_t limit = 0;  // 0: none
};

std::string forecast(const MemoryGrowth& growth, const Filling& filling, std::int64_t epochs) {
  if (filling.limit == 0) return {};
  const double room =
      std::max(static_cast<double>(filling.limit) - static_cast<double>(filling.most), 0.0);
  const double epoch =
      static_cast<double>(growth.last.epoch) + std::ceil(room / growth.slope.per_epoch);
  if (epoch > static_cast<double>(epochs))
    return fmt::format("; at this rate the limit of {} is not reached in {} epochs",
                       format_bytes(filling.limit), epochs);
  return fmt::format("; at this rate the limit of {} is reached in epoch {:.0f}",
                     format_bytes(filling.limit), epoch);
}

std::string growth_text(const MemoryGrowth& growth) {
  return fmt::format("+{} an epoch over epochs {}-{} ({} to {})",
                     format_bytes(static_cast<std::uint64_t>(growth.slope.per_epoch)),
                     growth.first.epoch, growth.last.epoch, format_bytes(growth.first.bytes),
                     format_bytes(growth.last.bytes));
}

// Whose part of what is held beside tensors grew the most.
std::string owner_of_growth(const PhaseMemory& before, const PhaseMemory& now) {
  const auto parts = [](const PhaseMemory& memory) {
    const std::uint64_t others =
        memory.in_loaders + memory.process.shared + memory.process.driver_locked;
    const std::uint64_t all = memory.beside_tensors();
    return std::array<std::pair<const char*, std::uint64_t>, 4>{
        {{"batches and samples of the loader", memory.in_loaders},
         {"shared memory", memory.process.shared},
         {"page-locked memory", memory.process.driver_locked},
         {"the heap (caches, operations, libraries)", all - std::min(all, others)}}};
  };
  const auto was = parts(before);
  const auto is = parts(now);
  std::size_t most = 0;
  const auto grown = [&](std::size_t part) {
    return static_cast<double>(is[part].second) - static_cast<double>(was[part].second);
  };
  for (std::size_t part = 1; part < is.size(); ++part)
    if (grown(part) > grown(most)) most = part;
  return fmt::format("{}, {} to {}", is[most].first, format_bytes(was[most].second),
                     format_bytes(is[most].second));
}

}  // namespace

std::optional<MemoryRemark> fragmented(const PhaseMemory& memory, double most_unused) {
  if (!memory.on_gpu || memory.retries == 0) return std::nullopt;
  const std::uint64_t unused = memory.peak_reserved - std::min(memory.peak_reserved, memory.peak);
  const bool of_peak =
      static_cast<double>(unused) > most_unused * static_cast<double>(memory.peak_reserved);
  const bool in_pieces = static_cast<double>(memory.inactive_split) >
                         most_unused * static_cast<double>(memory.reserved);
  if (!of_peak && !in_pieces) return std::nullopt;
  return MemoryRemark{
      .rule = "fragmented",
      .sentence = fmt::format(
          "the GPU's memory is in pieces: at most {} reserved for {} in tensors, {} in pieces, and "
          "{} times the allocator gave back what it held to find room; a larger GPU is not what is "
          "missing: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where it is set "
          "otherwise, and take inputs of one size",
          format_bytes(memory.peak_reserved), format_bytes(memory.peak),
          format_bytes(memory.inactive_split), memory.retries),
      .weight = static_cast<double>(memory.retries)};
}

std::optional<MemoryRemark> nearly_full(const PhaseMemory& memory, const MemoryLimits& limits,
                                        double from) {
  if (!memory.on_gpu || limits.gpu == 0) return std::nullopt;
  const double share = static_cast<double>(memory.peak) / static_cast<double>(limits.gpu);
  if (share <= from) return std::nullopt;
  const std::uint64_t left = limits.gpu - std::min(limits.gpu, memory.peak);
  return MemoryRemark{
      .rule = "gpu-nearly-full",
      .sentence = fmt::format("tensors took {} of the GPU's {} ({}): {} are left; a smaller "
                              "training.batch with a larger training.accumulation takes less",
                              format_bytes(memory.peak), format_bytes(limits.gpu),
                              format_share(share), format_bytes(left)),
      .weight = 1.0 / static_cast<double>(std::max<std::uint64_t>(left, 1))};
}

bool MemoryJudge::is_news(const MemoryRemark& remark) {
  const auto [said, first] = said_.try_emplace(remark.rule, remark.weight);
  if (first) return true;
  if (remark.weight < worth_saying_again * said->second) return false;
  said->second = remark.weight;
  return true;
}

std::string MemoryJudge::owner() const {
  return before_ && newest_ ? owner_of_growth(*before_, *newest_) : std::string();
}

std::vector<MemoryRemark> MemoryJudge::after(const PhaseMemory& memory,
                                             const MemoryLimits& limits) {
  std::vector<MemoryRemark> news;
  for (const auto& remark : {fragmented(memory), nearly_full(memory, limits)})
    if (remark && is_news(*remark)) news.push_back(*remark);
  return news;
}

std::vector<MemoryRemark> MemoryJudge::after_training(std::int64_t epoch, std::int64_t epochs,
                                                      const PhaseMemory& memory,
                                                      const MemoryLimits& limits) {
  tensors_.add(epoch, memory.allocated);
  beside_.add(epoch, memory.beside_tensors());
  if (++seen_ == 2) before_ = memory;
  newest_ = memory;
  std::vector<MemoryRemark> news = after(memory, limits);
  const Filling process{.most = memory.process_peak(), .limit = limits.process};
  const auto say = [&](MemoryRemark remark) {
    if (is_news(remark)) news.push_back(std::move(remark));
  };
  if (const std::optional<MemoryGrowth> growth = tensors_.growth()) {
    const Filling filling =
        memory.on_gpu ? Filling{.most = memory.peak, .limit = limits.gpu} : process;
    say({.rule = "tensors-grow",
         .sentence = fmt::format(
             "memory grows: tensors {}: something keeps tensors, a loss with its graph or outputs "
             "in a list, say; keep numbers, or detached copies{}",
             growth_text(*growth), forecast(*growth, filling, epochs)),
         .weight = growth->bytes()});
  }
  if (const std::optional<MemoryGrowth> growth = beside_.growth())
    say({.rule = "process-grows",
         .sentence =
             fmt::format("memory grows: process {} beside tensors: most of it is held by {}{}",
                         growth_text(*growth), owner(), forecast(*growth, process, epochs)),
         .weight = growth->bytes()});
  return news;
}

}  // namespace headrace::inline v1::monitor
