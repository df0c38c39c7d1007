#include <headrace/loaders/image/detail/jpeg/jpeg_entropy.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <jerror.h>

namespace headrace::inline v1::detail {
namespace {

/// What an AC symbol without a value says: sixteen zeros, or the end of the block.
int step_of(int symbol) noexcept {
  return symbol == 0xf0 ? 16 : DCTSIZE2;
}

/// Where the k-th coefficient of the zigzag stands, row by row. Damaged data runs past the last
/// one: as with the library, that is the last place again.
constexpr std::array<std::uint8_t, DCTSIZE2 + 32> order = [] {
  std::array<std::uint8_t, DCTSIZE2 + 32> places{};
  places.fill(DCTSIZE2 - 1);
  int x = 0;
  int y = 0;
  for (int k = 0; k < DCTSIZE2; ++k) {
    places[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(y * DCTSIZE + x);
    const bool up = (x + y) % 2 == 0;
    if (up ? x == DCTSIZE - 1 : y == DCTSIZE - 1) {
      ++(up ? y : x);
    } else if (up ? y == 0 : x == 0) {
      ++(up ? x : y);
    } else {
      x += up ? 1 : -1;
      y += up ? -1 : 1;
    }
  }
  return places;
}();

[[noreturn]] void fail(j_decompress_ptr info, J_MESSAGE_CODE code) {
  info->err->msg_code = code;
  info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
  __builtin_unreachable();
}

}  // namespace

void CoefficientTable::take(const JHUFF_TBL& table) {
  if (std::equal(lengths_.begin(), lengths_.end(), table.bits) &&
      std::equal(symbols_.begin(), symbols_.end(), table.huffval)) {
    return;
  }
  std::copy_n(table.bits, lengths_.size(), lengths_.begin());
  std::copy_n(table.huffval, symbols_.size(), symbols_.begin());
  codes_.define(std::span(lengths_).subspan(1), symbols_);
  Entries single;
  fill_single(single);
  for (std::size_t bits = 0; bits < single.size(); ++bits) {
    Entry& entry = entries_[bits] = single[bits];
    if (entry.bits == 0 || entry.values[0] == 0) continue;
    const Entry& second = single[bits << entry.bits & (single.size() - 1)];
    if (second.bits == 0 || entry.bits + second.bits > look) continue;
    if (second.values[0] != 0) {
      entry.values[1] = second.values[0];
      entry.steps[1] = static_cast<std::uint8_t>(1 + second.steps[0]);
    }
    entry.next = static_cast<std::uint8_t>(entry.next + second.next);
    entry.bits = static_cast<std::uint8_t>(entry.bits + second.bits);
  }
}

/// One symbol with its value, where they fit a look.
void CoefficientTable::fill_single(Entries& entries) const {
  std::size_t next = 0;
  std::size_t index = 0;
  for (int length = 1; length <= look; ++length) {
    for (int i = 0; i < lengths_[static_cast<std::size_t>(length)]; ++i) {
      const int symbol = symbols_[index++];
      const int size = symbol & 15;
      const std::size_t of_code = std::size_t{1} << (look - length);
      if (length + size <= look) {
        const std::size_t of_value = of_code >> size;
        for (std::uint32_t bits = 0; bits < 1U << size; ++bits) {
          const auto value = static_cast<std::int16_t>(extend(bits, size));
          const int zeros = size > 0 ? symbol >> 4 : 0;
          const Entry entry{
              .bits = static_cast<std::uint8_t>(length + size),
              .next = static_cast<std::uint8_t>(size > 0 ? zeros + 1 : step_of(symbol)),
              .steps = {static_cast<std::uint8_t>(zeros), 0},
              .values = {value, value}};
          std::fill_n(entries.begin() + static_cast<std::ptrdiff_t>(next + bits * of_value),
                      of_value, entry);
        }
      }
      next += of_code;
    }
  }
}

/// At least 56 bits stand in `held` afterwards, and are counted.
inline void JpegEntropy::Bits::refill() noexcept {
  std::uint64_t next;
  std::memcpy(&next, at, sizeof next);
  if constexpr (std::endian::native == std::endian::little) next = __builtin_bswap64(next);
  held |= next >> count;
  at += (63 - count) >> 3;
  count |= 56;
}

inline std::uint32_t JpegEntropy::Bits::take(int number) noexcept {
  const auto value = static_cast<std::uint32_t>(held >> 1 >> (63 - number));
  drop(number);
  return value;
}

inline void JpegEntropy::Bits::drop(int number) noexcept {
  held <<= number;
  count -= number;
}

inline int JpegEntropy::Bits::take_symbol(j_decompress_ptr info, const HuffmanTable& table) {
  const HuffmanTable::Code code = table.find(static_cast<std::uint32_t>(held >> 48));
  if (code.length == 0) fail(info, JWRN_HUFF_BAD_CODE);
  drop(code.length);
  return code.symbol;
}

bool JpegEntropy::attach(jpeg_decompress_struct& info, std::span<const JpegRow> rows) {
  const jpeg_decomp_master& master = *info.master;
  const bool plain = !info.progressive_mode && !info.arith_code && info.restart_interval == 0 &&
                     !info.inputctl->has_multiple_scans && info.data_precision == 8;
  const bool as_declared =
      master.first_iMCU_col == 0 && master.last_iMCU_col + 1 == info.MCUs_per_row;
  if (!plain || !as_declared) return false;
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const jpeg_component_info& component = *info.cur_comp_info[i];
    const JHUFF_TBL& lengths = *info.dc_huff_tbl_ptrs[component.dc_tbl_no];
    HuffmanTable& dc = dc_[static_cast<std::size_t>(component.dc_tbl_no)];
    dc.define(std::span(lengths.bits).subspan(1), lengths.huffval);
    CoefficientTable& ac = ac_[static_cast<std::size_t>(component.ac_tbl_no)];
    ac.take(*info.ac_huff_tbl_ptrs[component.ac_tbl_no]);
    components_[static_cast<std::size_t>(i)] = {
        .dc = &dc, .ac = &ac, .only_dc = component.DCT_scaled_size == 1};
  }
  rows_ = rows;
  row_ = 0;
  column_ = 0;
  begin({info.src->next_input_byte, info.src->bytes_in_buffer});
  base_ = *info.entropy;
  base_.decode_mcu = decode_mcu;
  info.entropy = &base_;
  return true;
}

void JpegEntropy::begin(std::span<const std::uint8_t> data) noexcept {
  rest_ = data;
  bits_ = {.at = data_.data()};
  end_ = data_.data();
  ended_ = false;
}

void JpegEntropy::begin_row(j_decompress_ptr info) {
  const auto own = reinterpret_cast<j_common_ptr>(info);
  if (row_ == rows_.size()) jpeg_fail(own, "the crop index has too few rows");
  const JpegRow& row = rows_[row_];
  begin(row.bytes);
  fetch(info);
  bits_.refill();
  bits_.drop(row.first_bit);
  for (int i = 0; i < info->comps_in_scan; ++i) {
    const auto c = static_cast<std::size_t>(i);
    components_[c].before = static_cast<unsigned>(row.before[c]);
  }
}

/// Sees that index and image agree.
void JpegEntropy::end_row(j_decompress_ptr info) {
  const JpegRow& row = rows_[row_++];
  bool fits = rest_.empty() && 8 * (end_ - bits_.at) + bits_.count == row.unused_bits;
  for (int i = 0; i < info->comps_in_scan; ++i) {
    const auto c = static_cast<std::size_t>(i);
    fits = fits && components_[c].before == static_cast<unsigned>(row.after[c]);
  }
  if (!fits) {
    jpeg_fail(reinterpret_cast<j_common_ptr>(info), "the crop index does not fit its image");
  }
}

bool JpegEntropy::finish(jpeg_decompress_struct& info) const {
  const auto code = std::ranges::find_if(rest_, [](std::uint8_t byte) { return byte != 0xff; });
  if (8 * (end_ - bits_.at) + bits_.count >= 8 || code == rest_.begin() || code == rest_.end() ||
      *code == 0)
    return false;
  info.src->next_input_byte = rest_.data();
  info.src->bytes_in_buffer = rest_.size();
  return true;
}

/// Makes room at the front of `data_` and fills it, without the zero that follows each FF. A marker
/// ends the data.
void JpegEntropy::fetch(j_decompress_ptr info) {
  const auto left = static_cast<std::size_t>(end_ - bits_.at);
  std::memmove(data_.data(), bits_.at, left);
  bits_.at = data_.data();
  std::uint8_t* to = data_.data() + left;
  const std::uint8_t* const full = data_.data() + chunk;
  while (to < full && !rest_.empty()) {
    const std::size_t room = std::min<std::size_t>(rest_.size(), full - to);
    const void* ff = std::memchr(rest_.data(), 0xff, room);
    const std::size_t plain =
        ff == nullptr ? room : static_cast<const std::uint8_t*>(ff) - rest_.data();
    std::memcpy(to, rest_.data(), plain);
    to += plain;
    rest_ = rest_.subspan(plain);
    if (ff == nullptr) continue;
    std::size_t after = 1;
    while (after < rest_.size() && rest_[after] == 0xff)
      ++after;
    if (after < rest_.size() && rest_[after] != 0) break;
    // The library's fast way leaves of such a place what its slow way would not.
    if (after > 1) jpeg_fail(reinterpret_cast<j_common_ptr>(info), "its data has an FF too many");
    *to++ = 0xff;
    rest_ = rest_.subspan(std::min(after + 1, rest_.size()));
  }
  end_ = to;
  if (to == full) return;
  if (rows_.empty() && rest_.empty()) info->src->fill_input_buffer(info);
  ended_ = true;
  std::memset(to, 0, most_of_mcu);
}

/// The next block's DC value.
inline JCOEF JpegEntropy::read_dc(j_decompress_ptr info, Component& component, Bits& bits) {
  bits.refill();
  const int size = bits.take_symbol(info, *component.dc);
  component.before += static_cast<unsigned>(extend(bits.take(size), size));
  return static_cast<JCOEF>(component.before);
}

/// Symbol and value by themselves: where the next one stands.
template <bool kKept>
inline int JpegEntropy::read_one(j_decompress_ptr info, const CoefficientTable& table, Bits& bits,
                                 [[maybe_unused]] JCOEF* block, int k) {
  bits.refill();
  const int symbol = bits.take_symbol(info, table.codes());
  const int size = symbol & 15;
  if (size == 0) return k + step_of(symbol);
  k += symbol >> 4;
  const int value = extend(bits.take(size), size);
  if constexpr (kKept) block[order[static_cast<std::size_t>(k)]] = static_cast<JCOEF>(value);
  return k + 1;
}

/// The next block's other values; without `kKept` only read over.
template <bool kKept>
inline void JpegEntropy::read_ac(j_decompress_ptr info, const CoefficientTable& table, Bits& bits,
                                 [[maybe_unused]] JCOEF* block) {
  int k = 1;
  // Up to here the first of two cannot end the block, and the second belongs to it.
  constexpr int last_look = DCTSIZE2 - 16;
  while (k < last_look) {
    bits.refill();
    for (int i = 0; i < 56 / CoefficientTable::look && k < last_look; ++i) {
      const CoefficientTable::Entry entry = table.at(bits.held);
      if (entry.bits == 0) [[unlikely]] {
        k = read_one<kKept>(info, table, bits, block, k);
        break;
      }
      if constexpr (kKept) {
        const std::uint8_t* place = order.data() + k + entry.steps[0];
        block[place[0]] = entry.values[0];
        block[place[entry.steps[1]]] = entry.values[1];
      }
      k += entry.next;
      bits.drop(entry.bits);
    }
  }
  while (k < DCTSIZE2)
    k = read_one<kKept>(info, table, bits, block, k);
}

/// The next block; only read over where there is no place for it.
inline void JpegEntropy::read_block(j_decompress_ptr info, Component& component, Bits& bits,
                                    JCOEF* block) {
  const JCOEF first = read_dc(info, component, bits);
  if (block != nullptr) block[0] = first;
  if (block != nullptr && !component.only_dc) {
    read_ac<true>(info, *component.ac, bits, block);
  } else {
    read_ac<false>(info, *component.ac, bits, nullptr);
  }
}

boolean JpegEntropy::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& self = *reinterpret_cast<JpegEntropy*>(info->entropy);
  if (self.column_ == 0 && !self.rows_.empty()) self.begin_row(info);
  if (!self.ended_ && static_cast<std::size_t>(self.end_ - self.bits_.at) < most_of_mcu)
    self.fetch(info);
  const jpeg_decomp_master& master = *info->master;
  const bool shown = blocks != nullptr && self.column_ >= master.first_iMCU_col &&
                     self.column_ <= master.last_iMCU_col;
  Bits bits = self.bits_;
  for (int i = 0; i < info->blocks_in_MCU; ++i) {
    Component& component = self.components_[static_cast<std::size_t>(info->MCU_membership[i])];
    read_block(info, component, bits, shown ? blocks[i][0] : nullptr);
  }
  self.bits_ = bits;
  if (8 * (bits.at - self.end_) > bits.count) fail(info, JWRN_HIT_MARKER);
  if (++self.column_ < info->MCUs_per_row) return TRUE;
  self.column_ = 0;
  if (!self.rows_.empty()) self.end_row(info);
  return TRUE;
}

}  // namespace headrace::inline v1::detail
