#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/origin.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace headrace::inline v1 {

/// Root of everything thrown on purpose. Messages follow one recipe: who, which sample, rule, what
/// came, way out.
class HEADRACE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request cannot be right: found before anything runs.
class HEADRACE_API ConfigError : public Error {
 public:
  using Error::Error;
};

/// Memory, descriptors or disk do not suffice; carries the sum in its message. Found before the
/// first read wherever it can be known.
class HEADRACE_API ResourceError : public Error {
 public:
  using Error::Error;
};

/// A device cannot be used, or failed at its work.
class HEADRACE_API DeviceError : public Error {
 public:
  using Error::Error;
};

/// A sample cannot be read, decoded or fitted. Thrown by sources and operations with the bare rule
/// and what came; the engine adds stage and origin before it reaches the trainer.
class HEADRACE_API DataError : public Error {
 public:
  using Error::Error;
  DataError(std::string stage, Origin origin, const std::string& what);

  /// Stage that failed: "order", "read", "decode", the name of a step of samples or batches,
  /// "collate", "transfer"; empty until the engine has filled it in.
  const std::string& stage() const noexcept { return stage_; }
  const Origin& origin() const noexcept { return origin_; }

 private:
  std::string stage_;
  Origin origin_;
};

/// The run cannot go on: loans exhausted, a budget of bad samples used up, a loader that is closed,
/// a file that is changed while it is read.
class HEADRACE_API PipelineError : public Error {
 public:
  using Error::Error;
};

}  // namespace headrace::inline v1
