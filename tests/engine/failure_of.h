#pragma once

#include <headrace/engine/headrace.h>

#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace headrace::test {

/// How an epoch ended that was read to its end or its error.
struct Failure {
  std::int64_t delivered = 0;  ///< batches
  std::string message;
  std::optional<DataError> data;
};

inline Failure failure_of(Loader& loader, std::int64_t epoch) {
  Failure failure;
  try {
    for (Batch& batch : loader.epoch(epoch)) {
      CHECK(batch.number() == failure.delivered);
      ++failure.delivered;
    }
  } catch (const DataError& error) {
    failure.data = error;
    failure.message = error.what();
  } catch (const Error& error) {
    failure.message = error.what();
  }
  return failure;
}

}  // namespace headrace::test
