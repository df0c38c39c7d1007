#include <headrace/engine/base/printable.h>
#include <headrace/training/checkpoint/detail/checkpoint_file.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/checkpoint/safetensors_header.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ATen/ops/empty.h>

namespace headrace::inline v1::training {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 15> types{
    {{"F64", at::kDouble},
     {"I64", at::kLong},
     {"U64", at::kUInt64},
     {"F32", at::kFloat},
     {"I32", at::kInt},
     {"U32", at::kUInt32},
     {"F16", at::kHalf},
     {"BF16", at::kBFloat16},
     {"I16", at::kShort},
     {"U16", at::kUInt16},
     {"F8_E4M3", at::kFloat8_e4m3fn},
     {"F8_E5M2", at::kFloat8_e5m2},
     {"I8", at::kChar},
     {"U8", at::kByte},
     {"BOOL", at::kBool}}};

at::ScalarType type_of(std::string_view dtype) {
  return std::ranges::find(types, dtype, &std::pair<std::string_view, at::ScalarType>::first)
      ->second;
}

std::string name_of(at::ScalarType type, const std::string& tensor) {
  const auto* found =
      std::ranges::find(types, type, &std::pair<std::string_view, at::ScalarType>::second);
  if (found == types.end())
    throw CheckpointError("[safetensors] tensor \"" + tensor + "\": no dtype of the format for " +
                          c10::toString(type));
  return std::string(found->first);
}

at::Tensor read_tensor(const detail::SafetensorsEntry& entry, const detail::FileStream& file,
                       const std::string& who) {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(type_of(entry.dtype)));
  const std::span data(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  file.read(data);
  if (entry.dtype == "BOOL" &&
      std::ranges::any_of(data, [](std::byte b) { return b > std::byte{1}; }))
    throw CheckpointError(who + ": tensor \"" + printable(entry.name, 200) +
                          "\" of dtype BOOL holds values other than 0 and 1");
  return tensor;
}

std::uint64_t length_of_header(const detail::FileStream& file, const std::string& who) {
  std::uint64_t length = 0;
  if (file.size < sizeof length)
    throw CheckpointError(who + ": a file has at least 8 bytes, got " + std::to_string(file.size));
  file.read(std::as_writable_bytes(std::span(&length, 1)));
  if (length > std::min(file.size - sizeof length, detail::max_safetensors_header))
    throw CheckpointError(who + ": a header of " + std::to_string(length) +
                          " bytes is more than the file (" + std::to_string(file.size) +
                          ") or the limit (" + std::to_string(detail::max_safetensors_header) +
                          ") allows");
  return length;
}

// By pieces: a length that is none, before a file of zeros, costs one of them.
std::string read_header(const detail::FileStream& file, const std::string& who) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  std::string text;
  for (std::uint64_t left = length_of_header(file, who); left > 0;) {
    const std::size_t before = text.size();
    text.resize(before + std::min(left, piece));
    file.read(std::as_writable_bytes(std::span(text).subspan(before)));
    left -= text.size() - before;
    if (text.front() != '{' || text.find('\0', before) != std::string::npos)
      throw CheckpointError(who + ": the header must begin with { and hold no zero");
  }
  return text;
}

}  // namespace

namespace detail {

void SafetensorsLayout::send(const ByteSink& sink) const {
  sink(std::as_bytes(std::span(head)));
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    const at::Tensor data = tensor.detach().to(at::kCPU).contiguous();
    sink({static_cast<const std::byte*>(data.const_data_ptr()), data.nbytes()});
  }
}

FileContent SafetensorsLayout::content() const {
  return {.size = size, .pieces = [this](const ByteSink& sink) { send(sink); }};
}

SafetensorsLayout safetensors_layout(const TensorFile& file) {
  struct Part {
    SafetensorsEntry entry;
    at::Tensor tensor;
  };
  std::vector<Part> parts;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "__metadata__")
      throw CheckpointError("[safetensors] no tensor may be called __metadata__");
    parts.push_back({{.name = name,
                      .dtype = name_of(tensor.scalar_type(), name),
                      .shape = tensor.sizes().vec()},
                     tensor});
  }
  std::ranges::sort(parts, {}, [](const Part& part) {
    return std::tuple(-static_cast<std::int64_t>(part.tensor.itemsize()),
                      std::string_view(part.entry.name));
  });

  SafetensorsHeader header{.entries = {}, .metadata = file.metadata};
  SafetensorsLayout layout;
  std::uint64_t end = 0;
  for (Part& part : parts) {
    part.entry.begin = end;
    part.entry.end = end += part.tensor.nbytes();
    header.entries.push_back(std::move(part.entry));
    layout.tensors.push_back(std::move(part.tensor));
  }
  const std::string text = format_safetensors_header(header);
  const std::uint64_t length = text.size();
  if (length > max_safetensors_header)
    throw CheckpointError("[safetensors] the header of " + std::to_string(length) +
                          " bytes is larger than the limit of " +
                          std::to_string(max_safetensors_header));
  layout.head.assign(reinterpret_cast<const char*>(&length), sizeof length);
  layout.head += text;
  layout.size = layout.head.size() + end;
  return layout;
}

TensorFile read_safetensors(const FileStream& file, const std::string& name) {
  const std::string who = "[safetensors] " + name;
  const std::string text = read_header(file, who);
  const std::uint64_t data_bytes = file.size - sizeof(std::uint64_t) - text.size();
  const SafetensorsHeader header = parse_safetensors_header(text, data_bytes, who);
  TensorFile read{.tensors = {}, .metadata = header.metadata};
  for (const SafetensorsEntry& entry : header.entries)
    read.tensors.emplace(entry.name, read_tensor(entry, file, who));
  return read;
}

}  // namespace detail

TensorFile parse_safetensors(const std::vector<std::byte>& bytes, const std::string& name) {
  std::span<const std::byte> left(bytes);
  return detail::read_safetensors({.size = bytes.size(),
                                   .read =
                                       [&left](std::span<std::byte> into) {
                                         std::ranges::copy(left.first(into.size()), into.begin());
                                         left = left.subspan(into.size());
                                       }},
                                  name);
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return detail::read_safetensors(detail::open_file(path), path.string());
}

std::vector<std::byte> format_safetensors(const TensorFile& file) {
  const detail::SafetensorsLayout layout = detail::safetensors_layout(file);
  std::vector<std::byte> bytes;
  bytes.reserve(layout.size);
  layout.send([&bytes](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  const detail::SafetensorsLayout layout = detail::safetensors_layout(file);
  detail::write_file(path, layout.content());
}

}  // namespace headrace::inline v1::training
