#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// A part of a row that lies in a chunk.
struct ChunkItem {
  std::size_t offset;  ///< bytes in the chunk
  std::uint32_t k;     ///< of the gather
  std::uint32_t piece;
};

/// Parts of rows whose chunks are not in memory, in groups of one chunk each. A chunk that comes
/// again after many others may get a second group, which then finds it in memory.
class MissingItems {
 public:
  struct Group {
    std::size_t chunk;
    std::uint32_t number;
    std::uint32_t count;
    std::uint32_t first;  ///< in items(), after arrange()
  };

  void clear() {
    noted_.clear();
    groups_.clear();
    recent_.fill({none, 0});
  }
  bool empty() const noexcept { return noted_.empty(); }

  void add(std::size_t chunk, const ChunkItem& item) {
    Recent& recent = recent_[chunk % recent_.size()];
    if (recent.chunk != chunk) {
      const auto number = static_cast<std::uint32_t>(groups_.size());
      recent = {chunk, number};
      groups_.push_back({chunk, number, 0, 0});
    }
    ++groups_[recent.group].count;
    noted_.push_back({item, recent.group});
  }

  /// Puts the groups in the order of their chunks, and the items in that of the groups.
  void arrange() {
    std::ranges::sort(groups_, {},
                      [](const Group& group) { return std::pair(group.chunk, group.number); });
    next_.resize(groups_.size());
    std::uint32_t first = 0;
    for (Group& group : groups_) {
      group.first = next_[group.number] = first;
      first += group.count;
    }
    items_.resize(noted_.size());
    for (const Noted& noted : noted_)
      items_[next_[noted.group]++] = noted.item;
  }

  std::span<const Group> groups() const noexcept { return groups_; }
  std::span<const ChunkItem> items(const Group& group) const noexcept {
    return {items_.data() + group.first, group.count};
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Recent {
    std::size_t chunk;
    std::uint32_t group;
  };
  struct Noted {
    ChunkItem item;
    std::uint32_t group;
  };
  std::vector<Noted> noted_;
  std::vector<ChunkItem> items_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> next_;
  std::array<Recent, 1024> recent_;
};

}  // namespace headrace::inline v1::detail
