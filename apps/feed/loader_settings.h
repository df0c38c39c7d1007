#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/decode_image.h>

#include <filesystem>
#include <optional>

namespace headrace::inline v1::app {

inline constexpr int default_io_threads = 4;  ///< what ThreadSettings::io 0 stands for

/// Threads of a run. Loader and LibTorch share the machine's cores.
struct ThreadSettings {
  int loader = 0;            ///< workers of the loader; 0: usable cores
  int io = 0;                ///< threads that may wait for storage; 0: 4
  int torch = 0;             ///< of LibTorch's operators; 0: usable cores
  Duration watchdog{600.0};  ///< a loader that finishes nothing for so long hangs; 0: nobody looks
};

/// Slowness to plant into a pipeline, to see whether the verdict finds it.
struct PlantedDelays {
  Duration read;       ///< each record
  int read_every = 1;  ///< records that `read` delays: 0, this many, twice as many, ...
  Duration decode;     ///< each sample
  Duration augment;    ///< each sample
  Duration transfer;   ///< each batch
  Duration consumer;   ///< each step, on top of its pace
};

/// The key `data.resident`; `options` says of which sources.
HEADRACE_API void describe_resident(Fields& fields, Bytes& resident, KeyOptions options = {});

/// The key `data.stage`, likewise.
HEADRACE_API void describe_stage(Fields& fields, std::filesystem::path& stage,
                                 KeyOptions options = {});

/// The key `data.prefetch`.
HEADRACE_API void describe_prefetch(Fields& fields, int& prefetch);

/// The section `threads`; `torch` is a key of it only where a model is trained.
HEADRACE_API void describe(Fields& fields, ThreadSettings& threads, bool trains);

/// The section `delay`.
HEADRACE_API void describe(Fields& fields, PlantedDelays& delay);

/// When a file is read to its end, whatever part of it is wanted.
enum class FileCheck : unsigned char { off, first_epoch };

/// The keys of the section `data` that say how far files of pictures are trusted.
struct DecodeSettings {
  FileCheck check = FileCheck::off;
  std::optional<Bytes> sample_limit{};  ///< what decoding one file may take; none: by the memory

  /// Says so to a decoder.
  void apply(DecodeImage& decode) const;
};

/// The keys `data.check` and `data.sample_limit`; `options` says of which sources.
void describe(Fields& fields, DecodeSettings& settings, KeyOptions options = {});

/// The same with a limit for a run that may hold `memory`, and decodes with `threads`.
DecodeSettings with_limit(DecodeSettings settings, const std::optional<Bytes>& memory,
                          const ThreadSettings& threads);

}  // namespace headrace::inline v1::app
