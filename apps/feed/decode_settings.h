#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/loaders/image/decode_image.h>

#include <optional>

namespace headrace::inline v1::app {

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
