#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <limits>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

constexpr auto most_dataset_bytes =
    static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());

herr_t list_dataset(hid_t, const char* name, const H5L_info_t*, void* names) {
  constexpr std::size_t most_names = 20;
  auto& list = *static_cast<std::vector<std::string>*>(names);
  list.emplace_back(name);
  return list.size() >= most_names ? 1 : 0;
}

std::string names_in(const Hdf5File& file) {
  std::vector<std::string> names;
  if (H5Lvisit(file.library().getId(), H5_INDEX_NAME, H5_ITER_INC, &list_dataset, &names) < 0)
    throw DataError("cannot be looked for, the groups of the file are damaged; copy it again");
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + printable(name);
  return text.empty() ? "nothing" : text;
}

/// False also where a group on the way is missing or is none. Throws what the library says of a
/// damaged one.
bool is_in(const Hdf5File& file, const std::string& path) {
  const H5::H5File& library = file.library();
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string group = path.substr(0, slash);
    if (!library.nameExists(group) || library.childObjType(group) != H5O_TYPE_GROUP) return false;
  }
  return library.nameExists(path);
}

void check_storage(const H5::DSetCreatPropList& creation) {
  if (creation.getExternalCount() > 0) {
    throw DataError(
        "keeps its data in another file (external storage), which is refused; copy "
        "the data into this file");
  }
}

std::vector<std::uint64_t> extents_of(const H5::DataSet& data, const Hdf5Element& element) {
  const H5::DataSpace space = data.getSpace();
  const int rank = space.isSimple() && space.getSimpleExtentType() == H5S_SIMPLE
                       ? space.getSimpleExtentNdims()
                       : 0;
  if (rank < 1) throw DataError("has no axis of rows; a table needs shape [rows, ...]");
  if (static_cast<std::size_t>(rank) + element.extents.size() > Shape::max_rank) {
    throw DataError("has rank " + std::to_string(rank) + ", at most " +
                    std::to_string(Shape::max_rank) + " axes can be read");
  }
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  space.getSimpleExtentDims(extents.data());
  std::vector<std::uint64_t> all(extents.begin(), extents.end());
  all.insert(all.end(), element.extents.begin(), element.extents.end());
  return all;
}

std::size_t leading_axes(const DatasetRequest& request, std::size_t rank) {
  const auto wanted = static_cast<std::size_t>(request.axes);
  if (wanted <= rank) return wanted;
  if (request.all_axes) return rank;
  throw DataError("has " + std::to_string(rank) + " axes, of which " + std::to_string(wanted) +
                  " shall count rows; name fewer");
}

void describe_shape(const DescribedPart& part, const Hdf5Element& element, Hdf5Dataset& dataset) {
  const std::size_t rank = part.extents.size() - element.extents.size();
  const std::size_t leading = leading_axes(part.request, rank);
  dataset.dtype = element.dtype;
  dataset.swap = element.swap;
  dataset.text = element.text;
  dataset.row_bytes = size_of(element.dtype);
  std::vector<std::int64_t> row;
  for (std::size_t axis = leading; axis < part.extents.size(); ++axis) {
    dataset.row_bytes = checked_product(dataset.row_bytes, part.extents[axis]);
    row.push_back(static_cast<std::int64_t>(part.extents[axis]));
  }
  if (dataset.row_bytes == 0)
    throw DataError("has empty rows; every axis of a row needs an extent");
  std::size_t rows = 1;
  for (std::size_t axis = 0; axis < leading; ++axis) {
    rows = checked_product(rows, part.extents[axis]);
    dataset.leading.push_back(static_cast<std::int64_t>(part.extents[axis]));
  }
  dataset.bytes = checked_product(dataset.row_bytes, rows);
  dataset.rows = static_cast<std::int64_t>(rows);
  dataset.row = Shape(std::span<const std::int64_t>(row));
}

/// Values of variable length are read past the library, which takes their sizes on trust.
void describe_ragged(const Hdf5File& file, Hdf5Dataset& dataset) {
  if (dataset.row.rank() > 1)
    throw DataError("has several values of variable length a row; let all its axes count rows");
  if (!dataset.library.empty()) {
    throw DataError("is of variable length and " + dataset.library +
                    ", which cannot be read; rewrite it with h5repack -l CHUNK");
  }
  const H5::FileCreatPropList creation = file.library().getCreatePlist();
  std::size_t address_bytes = 0, size_bytes = 0;
  creation.getSizes(address_bytes, size_bytes);
  if (address_bytes != 8 || size_bytes != 8)
    throw DataError("is of variable length in a file with short addresses; rewrite it");
  dataset.base = creation.getUserblock();
}

H5::DataSet open_admitted(const Hdf5File& file, const DatasetRequest& request) {
  {
    H5::DataSet data = open_dataset(file, request.path);
    const H5::DSetCreatPropList creation = data.getCreatePlist();
    check_storage(creation);
    if (creation.getLayout() != H5D_VIRTUAL) return data;
    admit_sources(file, request, creation);
  }
  return open_dataset(file, request.path);  // its extents may be those of its sources
}

Hdf5Dataset describe(const Hdf5File& file, const DatasetRequest& request, ChunkIndexes& indexes) {
  const H5::DataSet data = open_admitted(file, request);
  const H5::DSetCreatPropList creation = data.getCreatePlist();
  Hdf5Dataset dataset;
  dataset.field = request.field;
  dataset.path = request.path;
  const H5::DataType type = data.getDataType();
  const Hdf5Element element = element_of(type.getId());
  const DescribedPart part{file, request, data, creation, extents_of(data, element)};
  describe_shape(part, element, dataset);
  require_fill(part);
  dataset.ragged = element.ragged;
  switch (creation.getLayout()) {
    case H5D_CONTIGUOUS:
      describe_contiguous(part, dataset);
      break;
    case H5D_COMPACT:
      describe_compact(part, dataset);
      break;
    case H5D_VIRTUAL:
      dataset.library = "is virtual";
      break;
    default:
      describe_chunks(part, indexes, dataset);
  }
  if (dataset.ragged) describe_ragged(file, dataset);
  return dataset;
}

}  // namespace

H5::DataSet open_dataset(const Hdf5File& file, const std::string& path, std::size_t cache_bytes) {
  std::string refused;
  H5::DSetAccPropList access;
  H5Pset_elink_cb(access.getId(), &refuse_external, &refused);
  if (cache_bytes > 0) {
    constexpr std::size_t slots = 12421;  // a prime, about a hundred times the chunks held
    access.setChunkCache(slots, cache_bytes, 0.75);
  }
  try {
    return file.library().openDataSet(path.c_str(), access);
  } catch (const H5::Exception&) {
    if (!refused.empty()) {
      throw DataError("lies behind an external link to \"" + printable(refused) +
                      "\", which is refused; copy the data into this file");
    }
    if (is_in(file, path)) throw;
    throw ConfigError("[hdf5] " + printable(file.path().native()) + ": there is no dataset \"" +
                      path + "\", the file has " + names_in(file) + "; name one of these");
  }
}

std::size_t checked_product(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > most_dataset_bytes) {
    throw DataError("declares more bytes than 63 bits can count; the file is damaged or hostile");
  }
  return result;
}

Hdf5Dataset describe_dataset(const Hdf5File& file, const DatasetRequest& request,
                             ChunkIndexes& indexes) {
  Hdf5Dataset dataset;
  try {
    file.thread().run([&] { dataset = describe(file, request, indexes); });
  } catch (const DataError& error) {
    throw DataError("[hdf5] " + printable(file.path().native()) + ": dataset \"" +
                    printable(request.path) + "\" " + error.what());
  }
  return dataset;
}

}  // namespace headrace::inline v1::detail
