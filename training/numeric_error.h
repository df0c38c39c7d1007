#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>

namespace headrace::inline v1::training {

/// Training produced a value that is not a number; programs end with exit code 5.
class HEADRACE_API NumericError : public Error {
 public:
  using Error::Error;
};

}  // namespace headrace::inline v1::training
