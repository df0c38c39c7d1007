#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include <headrace/engine/export.h>

namespace headrace::inline v1 {

/// Where a sample comes from and where it goes.
struct Origin {
  std::int64_t index = -1;     ///< record in the source
  std::int64_t part = 0;       ///< which sample of the record, where one record gives several
  std::int64_t epoch = 0;      ///< epoch of the order
  std::int64_t position = -1;  ///< place in the epoch's global order, all ranks counted
  std::int64_t batch = -1;     ///< number of the batch in the epoch
  std::int64_t row = -1;       ///< row in the batch
  std::string file{};  ///< file and place inside it; filled when asked for or when something failed
};

/// "sample 48213 (epoch 3, position 17, cat/0192.jpg)".
HEADRACE_API std::string to_string(const Origin& origin);

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

/// A device was asked for and cannot be used.
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

  /// Stage that failed: "read", "decode", a step's name, "collate"; empty until the engine has
  /// filled it in.
  const std::string& stage() const noexcept { return stage_; }
  const Origin& origin() const noexcept { return origin_; }

 private:
  std::string stage_;
  Origin origin_;
};

/// The run cannot go on: loans exhausted, a budget of bad samples used up, a loader that is closed.
class HEADRACE_API PipelineError : public Error {
 public:
  using Error::Error;
};

}  // namespace headrace::inline v1
