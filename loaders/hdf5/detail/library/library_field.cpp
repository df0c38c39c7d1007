#include <headrace/loaders/hdf5/detail/table/field_reader.h>
#include <headrace/loaders/hdf5/detail/table/sorted_rows.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

class LibraryField final : public FieldReader {
 public:
  LibraryField(std::shared_ptr<LibraryAccess> library, const Hdf5Dataset& dataset,
               std::size_t cache_bytes)
      : library_(std::move(library)), reader_(library_->reader(dataset, cache_bytes)) {}

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    reader_->read(sorted_rows(indices, out));
  }
  std::size_t bytes() const override { return reader_->bytes(); }

 private:
  std::shared_ptr<LibraryAccess> library_;
  std::unique_ptr<LibraryReader> reader_;
};

}  // namespace

std::unique_ptr<FieldReader> make_library_field(std::shared_ptr<LibraryAccess> library,
                                                const Hdf5Dataset& dataset, std::size_t memory) {
  constexpr std::size_t chunks_kept = 4;
  const std::size_t cache = std::min(dataset.chunk_bytes * chunks_kept, memory);
  return std::make_unique<LibraryField>(std::move(library), dataset, cache);
}

}  // namespace headrace::inline v1::detail
