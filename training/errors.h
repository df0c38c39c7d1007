#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>

namespace headrace::inline v1::training {

/// A weight file or checkpoint that cannot be read, believed or written; programs end with exit
/// code 6. The message names the file, the rule and what was found.
class HEADRACE_API CheckpointError : public Error {
 public:
  using Error::Error;
};

/// One that cannot be written: the disk is full, fails, or refuses; programs end with exit code 4.
/// What was there before is as it was.
class HEADRACE_API CheckpointWriteError : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

/// Training produced a value that is not a number; programs end with exit code 5.
class HEADRACE_API NumericError : public Error {
 public:
  using Error::Error;
};

}  // namespace headrace::inline v1::training
