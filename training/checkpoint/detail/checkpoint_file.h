#pragma once

#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/checkpoint/safetensors.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::training::detail {

// A file that is read from its beginning on.
struct FileStream {
  std::uint64_t size = 0;
  std::function<void(std::span<std::byte> into)> read = {};  // the next bytes: all that it asks for
};

// Opens a regular file. Throws `CheckpointError`, as its `read` does.
FileStream open_file(const std::filesystem::path& path);

// As the engine's `write_file_atomically`, but throws `CheckpointWriteError`.
void write_file(const std::filesystem::path& path, const FileContent& content);

// A safetensors file as it is written, tensor by tensor.
struct SafetensorsLayout {
  std::string head;                   // the header behind its length
  std::vector<at::Tensor> tensors{};  // whose data follow, in this order
  std::uint64_t size = 0;             // of the whole file

  // All of it in order. A tensor on a device, or not in row-major order, is copied when its turn
  // comes.
  void send(const ByteSink& sink) const;
  FileContent content() const;  // of this layout, which outlives it
};

// The largest item sizes first, then by name; the data begin at a multiple of eight. Throws
// `CheckpointError` for a dtype the format lacks.
SafetensorsLayout safetensors_layout(const TensorFile& file);

// As the public function of that name, from a file that is open; `name` stands in messages.
TensorFile read_safetensors(const FileStream& file, const std::string& name);

}  // namespace headrace::inline v1::training::detail
