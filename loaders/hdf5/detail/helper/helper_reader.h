#pragma once

#include <headrace/loaders/hdf5/detail/helper/helper_messages.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace headrace::inline v1::detail {

/// A dataset that a helper has open for rows, or will.
struct HelperDataset {
  std::size_t number;   ///< among all that were ever opened
  std::size_t dataset;  ///< of its description
  std::size_t cache_bytes;
};

/// What a helper is asked, for the limits of the call and for what is said when it ends at it.
struct HelperQuestion {
  HelperCall kind;
  const char* doing;
  std::size_t work = 0;                        ///< bytes that it reads and decodes
  std::size_t rows = 0;                        ///< that it looks for
  std::size_t memory = 0;                      ///< bytes that it takes beside what any call does
  std::size_t answer = std::size_t{64} << 20;  ///< bytes, at most
  const HelperDataset* of = nullptr;           ///< must be open for it
};

/// A helper that hands rows over through memory that both sides see.
class HelperRows {
 public:
  /// `use` gets the `bytes` bytes of rows that the call read; nobody else calls meanwhile.
  virtual void read(const HelperQuestion& call, const WireWriter& message, std::size_t bytes,
                    const std::function<void(const std::byte*)>& use) = 0;
  virtual void close_reader(std::size_t number) noexcept = 0;

 protected:
  ~HelperRows() = default;
};

/// A reader of that dataset. `rows` must outlive it.
std::unique_ptr<LibraryReader> helper_reader(HelperRows& rows, const HelperDataset& opened,
                                             const Hdf5Dataset& dataset);

}  // namespace headrace::inline v1::detail
