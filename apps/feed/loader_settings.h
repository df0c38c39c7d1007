#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/plan/options.h>
#include <headrace/loaders/image/decode_image.h>

#include <cstdint>
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

/// The section `data.bad_samples`: what is done about records to train on that cannot be read.
struct BadSampleSettings {
  BadSamples::Rule rule = BadSamples::Rule::fail;
  std::int64_t most = 0;    ///< of a stage; 0: any number
  double most_share = 0.1;  ///< of an epoch's samples

  /// For loaders of these records. `log`: BadSamples::log.
  BadSamples in_training(std::filesystem::path log) const;
  /// For those that look at these records before: what would not end a training is left out.
  BadSamples before_training() const;
};

/// The same for records to judge: those that cannot be read are left out of all figures.
BadSamples unread_records(std::filesystem::path log);

/// The key `bad_samples`, a section.
HEADRACE_API void describe_bad_samples(Fields& fields, BadSampleSettings& settings);

/// How far files are looked at before they are needed: see describe_check().
enum class FileCheck : unsigned char { none, quick, decode };

/// The keys of the section `data` that say how far files of pictures are trusted.
struct DecodeSettings {
  FileCheck check = FileCheck::none;
  std::optional<Bytes> sample_limit{};  ///< what decoding one file may take; none: by the memory

  /// Says so to a decoder.
  void apply(DecodeImage& decode) const;
};

/// The key `data.check`; `judges`: some records are judged. `options` says of which sources.
void describe_check(Fields& fields, FileCheck& check, bool judges, KeyOptions options = {});

/// The key `data.sample_limit`, likewise.
void describe_sample_limit(Fields& fields, std::optional<Bytes>& limit, KeyOptions options = {});

/// The same with a limit for a run that may hold `memory`, and decodes with `threads`.
DecodeSettings with_limit(DecodeSettings settings, const std::optional<Bytes>& memory,
                          const ThreadSettings& threads);

}  // namespace headrace::inline v1::app
