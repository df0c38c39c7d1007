#include <headrace/training/checkpoint_error.h>
#include <headrace/training/checkpoint_file.h>
#include <headrace/training/safetensors.h>
#include <headrace/training/safetensors_header.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
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

at::Tensor tensor_from(const detail::SafetensorsEntry& entry, const std::byte* data,
                       const std::string& who) {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(type_of(entry.dtype)));
  const std::byte* begin = data + entry.begin;
  const std::size_t size = entry.end - entry.begin;
  if (entry.dtype == "BOOL" &&
      std::any_of(begin, begin + size, [](std::byte b) { return b > std::byte{1}; }))
    throw CheckpointError(who + ": tensor \"" + entry.name +
                          "\" of dtype BOOL holds values other than 0 and 1");
  if (size > 0) std::memcpy(tensor.mutable_data_ptr(), begin, size);
  return tensor;
}

}  // namespace

TensorFile parse_safetensors(const std::vector<std::byte>& bytes, const std::string& name) {
  const std::string who = "[safetensors] " + name;
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    throw CheckpointError(who + ": a file has at least 8 bytes, got " +
                          std::to_string(bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::uint64_t room = bytes.size() - sizeof length;
  if (length > std::min(room, detail::max_safetensors_header))
    throw CheckpointError(who + ": a header of " + std::to_string(length) +
                          " bytes is more than the file (" + std::to_string(bytes.size()) +
                          ") or the limit (" + std::to_string(detail::max_safetensors_header) +
                          ") allows");
  const std::byte* text = bytes.data() + sizeof length;
  const detail::SafetensorsHeader header = detail::parse_safetensors_header(
      {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)}, room - length, who);

  TensorFile file{.tensors = {}, .metadata = header.metadata};
  for (const detail::SafetensorsEntry& entry : header.entries)
    file.tensors.emplace(entry.name, tensor_from(entry, text + length, who));
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}

std::vector<std::byte> format_safetensors(const TensorFile& file) {
  struct Part {
    detail::SafetensorsEntry entry;
    at::Tensor data;
  };
  std::vector<Part> parts;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "__metadata__")
      throw CheckpointError("[safetensors] no tensor may be called __metadata__");
    parts.push_back({{.name = name,
                      .dtype = name_of(tensor.scalar_type(), name),
                      .shape = tensor.sizes().vec()},
                     tensor.detach().to(at::kCPU).contiguous()});
  }
  std::ranges::sort(parts, {}, [](const Part& part) {
    return std::tuple(-static_cast<std::int64_t>(part.data.itemsize()),
                      std::string_view(part.entry.name));
  });

  detail::SafetensorsHeader header{.entries = {}, .metadata = file.metadata};
  std::uint64_t end = 0;
  for (Part& part : parts) {
    part.entry.begin = end;
    part.entry.end = end += part.data.nbytes();
    header.entries.push_back(part.entry);
  }
  const std::string text = detail::format_safetensors_header(header);
  const std::uint64_t length = text.size();
  if (length > detail::max_safetensors_header)
    throw CheckpointError("[safetensors] the header of " + std::to_string(length) +
                          " bytes is larger than the limit of " +
                          std::to_string(detail::max_safetensors_header));

  std::vector<std::byte> bytes(sizeof length + length + end);
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, text.data(), text.size());
  std::byte* data = bytes.data() + sizeof length + length;
  for (const Part& part : parts)
    if (part.entry.end > part.entry.begin)
      std::memcpy(data + part.entry.begin, part.data.const_data_ptr(),
                  part.entry.end - part.entry.begin);
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  write_file_atomically(path, format_safetensors(file));
}

}  // namespace headrace::inline v1::training
