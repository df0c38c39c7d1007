#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Named tensors and notes, as a safetensors file holds them. Names are any text but
/// `__metadata__`.
struct TensorFile {
  std::map<std::string, at::Tensor> tensors = {};
  std::map<std::string, std::string> metadata = {};
};

/// Reads a safetensors file (format of huggingface/safetensors), tensor by tensor, into CPU tensors
/// of their own.
/// Nothing in the file is believed before it is checked: see `detail::parse_safetensors_header`;
/// truth values other than 0 and 1 are refused too. Throws `CheckpointError`.
HEADRACE_API TensorFile read_safetensors(const std::filesystem::path& path);

/// The same from memory; `name` stands in messages for the file's.
HEADRACE_API TensorFile parse_safetensors(const std::vector<std::byte>& bytes,
                                          const std::string& name);

/// The bytes of a safetensors file: the largest item sizes first, then by name; the data begin at a
/// multiple of eight. Tensors on a device are copied from it, in row-major order. Throws
/// `CheckpointError` for a dtype the format lacks.
HEADRACE_API std::vector<std::byte> format_safetensors(const TensorFile& file);

/// Writes a file atomically and tensor by tensor: after a crash at any moment the path holds the
/// whole old file or the whole new one. What was written is read back and compared before it takes
/// the name. Throws `CheckpointError` for a dtype the format lacks, `CheckpointWriteError` for a
/// disk that does not take it: of a full one it says the bytes needed and those free.
HEADRACE_API void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace headrace::inline v1::training
