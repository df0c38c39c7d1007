#include <headrace/apps/pack/pack_table_columns.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <libdeflate.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = 16_MiB;
constexpr std::size_t usual_chunk_bytes = 256_KiB;

struct PackTableOptions {
  std::filesystem::path input{};        // HDF5 file, or folder of .npy files.
  std::filesystem::path output{};       // HDF5 file.
  std::vector<std::string> datasets{};  // Of an HDF5 file; empty: all.
  std::string layout = "contiguous";    // contiguous, zstd or lz4.
  std::int64_t chunk_rows = 0;          // 0: about 256 KiB a chunk.
};

void add(CLI::App& line, PackTableOptions& options) {
  line.add_option("INPUT", options.input, "HDF5 file, or folder of .npy files")->required();
  line.add_option("OUTPUT", options.output, "HDF5 file to write")->required();
  line.add_option("--dataset", options.datasets, "Dataset to take (repeatable); default: all")
      ->take_all()
      ->allow_extra_args(false);
  line.add_option("--layout", options.layout,
                  "contiguous: fastest; zstd, lz4: smaller, in compressed chunks")
      ->check(CLI::IsMember({"contiguous", "zstd", "lz4"}))
      ->capture_default_str();
  line.add_option("--chunk-rows", options.chunk_rows, "Rows of a chunk; 0: about 256 KiB")
      ->check(CLI::NonNegativeNumber);
}

void say(std::string_view line) {
  fmt::print(stderr, "pack table: {}\n", printable(line));
}

std::size_t bytes_of(const PackColumns& columns) {
  std::size_t bytes = 0;
  for (const auto& column : columns)
    bytes += column->row_bytes() * static_cast<std::size_t>(column->size());
  return bytes;
}

// Calls use(rows) with all rows, piece by piece, and gives their CRC-32.
template <class Use>
std::uint32_t read_through(const PackColumn& column, const Use& use) {
  const auto fitting = static_cast<std::int64_t>(piece_bytes / column.row_bytes());
  const std::int64_t step = std::clamp<std::int64_t>(fitting, 1, column.size());
  std::uint32_t sum = 0;
  std::vector<std::int64_t> indices;
  for (std::int64_t first = 0; first < column.size(); first += step) {
    const std::int64_t count = std::min(step, column.size() - first);
    indices.resize(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), first);
    Tensor rows = Tensor::empty(column.dtype(), column.row().batched(count));
    column.read(indices, static_cast<std::byte*>(rows.raw()));
    sum = libdeflate_crc32(sum, rows.raw(), rows.bytes());
    use(rows);
  }
  return sum;
}

Hdf5Layout layout_of(const PackTableOptions& options, const PackColumn& column) {
  if (options.layout == "contiguous") return {};
  const auto usual = static_cast<std::int64_t>(usual_chunk_bytes / column.row_bytes());
  const std::int64_t rows =
      options.chunk_rows > 0 ? options.chunk_rows : std::max<std::int64_t>(usual, 1);
  return {.chunk_rows = rows, .codec = options.layout == "zstd" ? Hdf5Codec::zstd : Hdf5Codec::lz4};
}

void copy_attributes(const PackColumn& column, bool root, Hdf5Writer& writer) {
  for (const Hdf5Attribute& attribute : column.attributes()) {
    const bool of_root = attribute.object == "/";
    // A file that was packed before has these; they are written anew.
    if ((of_root && !root) || attribute.name == "packed_from" || attribute.name == "crc32")
      continue;
    const std::string object = of_root ? "/" : column.path();
    if (attribute.value.defined()) {
      writer.attribute(object, attribute.name, attribute.value);
    } else {
      writer.attribute(object, attribute.name, attribute.text);
    }
  }
}

std::vector<std::uint32_t> write(const PackColumns& columns, const PackTableOptions& options) {
  Hdf5Writer writer(options.output);
  Progress progress("pack table: written", static_cast<std::int64_t>(bytes_of(columns)), "bytes");
  std::int64_t done = 0;
  std::vector<std::uint32_t> sums;
  for (const auto& column : columns) {
    writer.add(column->path(), column->dtype(), column->size(), column->row(),
               layout_of(options, *column));
    copy_attributes(*column, column == columns.front(), writer);
    sums.push_back(read_through(*column, [&](const Tensor& rows) {
      writer.append(column->path(), rows);
      progress.show(done += static_cast<std::int64_t>(rows.bytes()));
    }));
    Tensor sum = Tensor::empty(DType::uint32, Shape{});
    *sum.data<std::uint32_t>() = sums.back();
    writer.attribute(column->path(), "crc32", sum);
  }
  writer.attribute("packed_from", options.input.filename().string());
  writer.finish();
  progress.end();
  return sums;
}

void verify(const PackColumns& packed, const std::vector<std::uint32_t>& sums) {
  Progress progress("pack table: checked", static_cast<std::int64_t>(bytes_of(packed)), "bytes");
  std::int64_t done = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const std::uint32_t sum = read_through(*packed[i], [&](const Tensor& rows) {
      progress.show(done += static_cast<std::int64_t>(rows.bytes()));
    });
    if (sum == sums[i]) continue;
    throw DataError(fmt::format(
        "[pack] {} must read back with checksum {:08x}, got {:08x}; check the disk and pack again",
        packed[i]->path(), sums[i], sum));
  }
  progress.end();
}

// Random rows a second in one thread, all columns of as many rows as the first.
double random_rate(const PackColumns& columns, double seconds) {
  const std::int64_t size = columns.front()->size();
  const std::int64_t count = std::min<std::int64_t>(size, 1024);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::vector<std::byte> memory;
  Random random({.seed = 1});
  double rows = 0;
  Clock::time_point begun = Clock::now();
  for (int round = 0; round < 2 || seconds_since(begun) < seconds; ++round) {
    if (round == 1) {  // the first one warms up
      begun = Clock::now();
      rows = 0;
    }
    for (std::int64_t& index : indices)
      index = random.below(size);
    for (const auto& column : columns) {
      if (column->size() != size) continue;
      memory.resize(column->row_bytes() * indices.size());
      column->read(indices, memory.data());
    }
    rows += static_cast<double>(count);
  }
  return rows / seconds_since(begun);
}

void require_output(const PackTableOptions& options) {
  std::error_code none;
  if (std::filesystem::equivalent(options.input, options.output, none)) {
    throw ConfigError("[pack] the output must be another file than the input, got " +
                      options.output.string() + " for both; choose another name");
  }
  if (options.layout == "contiguous" && options.chunk_rows > 0) {
    throw ConfigError(
        "[pack] --chunk-rows needs a layout with chunks, got contiguous; choose "
        "zstd or lz4");
  }
}

ExitCode run(const PackTableOptions& options, const CommandCall&) {
  require_output(options);
  const Clock::time_point begun = Clock::now();
  const LogCallback log = [](headrace::LogLevel level, std::string_view line) {
    if (level == headrace::LogLevel::warning) say(line);
  };
  const PackColumns columns = open_pack_columns(options.input, options.datasets, log);
  const std::vector<std::uint32_t> sums = write(columns, options);
  std::vector<std::string> paths;
  for (const auto& column : columns)
    paths.push_back(column->path());
  const PackColumns packed = open_pack_columns(options.output, paths, log);
  verify(packed, sums);
  constexpr double measured_s = 0.5;
  const double before = random_rate(columns, measured_s), after = random_rate(packed, measured_s);
  say(fmt::format("{}: {} arrays, {}, {} on disk, every checksum right, in {}",
                  options.output.string(), columns.size(), monitor::format_bytes(bytes_of(columns)),
                  monitor::format_bytes(std::filesystem::file_size(options.output)),
                  monitor::format_seconds(seconds_since(begun))));
  say(fmt::format("random rows in one thread: {:.0f} a second before, {:.0f} now", before, after));
  return ExitCode::done;
}

}  // namespace

// Writes the datasets of an HDF5 file, or the .npy files of a folder, into an HDF5 file that reads
// fast; reads it back against the checksums; and says how fast random rows came before and after,
// measured on this machine.
Command pack_table_command() {
  return make_command<PackTableOptions>(
      "table", "Write arrays into an HDF5 file that reads fast, and measure before and after", add,
      run);
}

}  // namespace headrace::inline v1::app
