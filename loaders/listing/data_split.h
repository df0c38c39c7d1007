#pragma once

#include <headrace/engine/base/export.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

/// The part of a data set that a record belongs to.
enum class DataSplit : unsigned char { train, validation, test };

/// "train", "validation" or "test".
HEADRACE_API std::string_view name_of(DataSplit split) noexcept;

/// The split that a word stands for, in small or capital letters: train or training; validation,
/// valid, val or dev; test or testing. Nothing for another word.
HEADRACE_API std::optional<DataSplit> split_named(std::string_view word);

/// The words that split_named() knows.
HEADRACE_API std::span<const std::string> split_words();

}  // namespace headrace::inline v1
