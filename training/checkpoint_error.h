#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>

namespace headrace::inline v1::training {

/// A weight file or checkpoint that cannot be written, read or believed; programs end with exit
/// code 6. The message names the file, the rule and what was found.
class HEADRACE_API CheckpointError : public Error {
 public:
  using Error::Error;
};

}  // namespace headrace::inline v1::training
