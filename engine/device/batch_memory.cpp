#include <headrace/engine/device/internal/batch_memory.h>
#include <headrace/engine/tensor/internal/byte_count.h>
#include <headrace/engine/tensor/internal/within.h>

#include <algorithm>

namespace headrace::inline v1::detail {

namespace {

Tensor piece_at(std::byte* memory, std::size_t bytes, Device device) {
  return Tensor::borrow(memory, DType::uint8, Shape{static_cast<std::int64_t>(bytes)}, {}, device);
}

}  // namespace

void BatchMemory::set_aside(std::byte* room, const std::vector<MadePiece>& pieces) {
  for (const MadePiece& piece : pieces) {
    made.emplace_back(piece.name, piece_at(room, piece.bytes, device));
    room += piece.bytes;
  }
}

Tensor BatchMemory::make(std::string_view name, DType dtype, const Shape& shape,
                         const Fields& fields) {
  const std::size_t bytes = piece_bytes(byte_count(dtype, shape));
  Tensor* piece = nullptr;
  for (auto& each : made) {
    Tensor& held = each.second;
    const auto lies_here = [&](const auto& field) { return within(field.second.raw(), held); };
    if (each.first != name || std::ranges::any_of(fields, lies_here)) continue;
    piece = &held;
    if (held.bytes() >= bytes) break;
  }
  if (piece == nullptr) piece = &made.emplace_back(std::string(name), Tensor()).second;
  if (piece->bytes() < bytes) enlarge(*piece, bytes);
  return Tensor::borrow(piece->raw(), dtype, shape, piece->keep(), device);
}

/// On a device the smaller memory stays, for a kernel may still read it: twice as much is taken
/// each time, so that all that became too small is less than what is in use.
void BatchMemory::enlarge(Tensor& piece, std::size_t bytes) {
  if (device.is_cuda()) {
    bytes = std::max(bytes, 2 * piece.bytes());
    piece = piece_at(more.emplace_back(allocate_on_device(device, bytes)).get(), bytes, device);
  } else {
    piece = Tensor();
    piece = Tensor::empty(DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  }
}

}  // namespace headrace::inline v1::detail
