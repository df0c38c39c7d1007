#pragma once

#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/task/records.h>

#include <chrono>
#include <filesystem>

namespace headrace::inline v1::app {

/// How records that are judged are looked at before the first step.
struct JudgedCheck {
  DecodeSettings decode{};
  bool must_be_sound = true;         ///< one that cannot be read is an error, and no warning
  bool may_be_gone = false;          ///< so is a part of which none can, unless this is set
  std::filesystem::path listings{};  ///< keeps which files were sound; empty: nothing is kept
  std::chrono::nanoseconds most = std::chrono::minutes(2);  ///< that FileCheck::quick may take
};

/// Reads the records of validation and test that have files of their own, are pictures of a pack or
/// are in memory, and looks at pictures and masks as far as `decode.check` says: what begins and
/// ends as a file should is sound, of others and with FileCheck::decode what the decoder takes
/// whole. Says which cannot be read, and how many were not looked at. Throws DataError,
/// ResourceError.
void check_judged(const TaskRecords& records, const JudgedCheck& check);

}  // namespace headrace::inline v1::app
