#include <headrace/loaders/hdf5/detail/hdf5_dataset.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {
namespace {

constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());

/// Part of the library itself: for any other one it would look for a plugin and run it.
constexpr std::array<H5Z_filter_t, 5> filters_inside{H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE,
                                                     H5Z_FILTER_FLETCHER32, H5Z_FILTER_NBIT,
                                                     H5Z_FILTER_SCALEOFFSET};

std::size_t product(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > most_bytes) {
    throw DataError("declares more bytes than 63 bits can count; the file is damaged or hostile");
  }
  return result;
}

/// Called by the library before it follows a link into another file.
herr_t refuse_external(const char*, const char*, const char* file, const char*, unsigned*, hid_t,
                       void* refused) {
  *static_cast<std::string*>(refused) = file != nullptr ? file : "another file";
  return -1;
}

herr_t list_dataset(hid_t, const char* name, const H5L_info_t*, void* names) {
  constexpr std::size_t most_names = 20;
  auto& list = *static_cast<std::vector<std::string>*>(names);
  list.emplace_back(name);
  return list.size() >= most_names ? 1 : 0;
}

std::string names_in(const Hdf5File& file) {
  std::vector<std::string> names;
  H5Lvisit(file.library().getId(), H5_INDEX_NAME, H5_ITER_INC, &list_dataset, &names);
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

void check_storage(const H5::DSetCreatPropList& creation) {
  if (creation.getExternalCount() > 0) {
    throw DataError(
        "keeps its data in another file (external storage), which is refused; copy "
        "the data into this file");
  }
  if (creation.getLayout() == H5D_VIRTUAL) {
    throw DataError(
        "is virtual (its data lies in other files), which is refused; copy the data "
        "into this file");
  }
}

std::vector<H5Z_filter_t> check_filters(const H5::DSetCreatPropList& creation) {
  std::vector<H5Z_filter_t> filters;
  for (int i = 0; i < creation.getNfilters(); ++i) {
    unsigned flags = 0, settings = 0;
    std::size_t values = 0;
    const H5Z_filter_t id = H5Pget_filter2(creation.getId(), static_cast<unsigned>(i), &flags,
                                           &values, nullptr, 0, nullptr, &settings);
    if (std::find(filters_inside.begin(), filters_inside.end(), id) == filters_inside.end()) {
      throw DataError("is stored with filter " + std::to_string(id) +
                      ", which needs a plugin; plugins are not loaded, rewrite it with "
                      "h5repack -f GZIP=4 or -f NONE");
    }
    filters.push_back(id);
  }
  return filters;
}

void describe_shape(const H5::DataSet& data, Hdf5Dataset& dataset) {
  const H5::DataSpace space = data.getSpace();
  const int rank = space.isSimple() && space.getSimpleExtentType() == H5S_SIMPLE
                       ? space.getSimpleExtentNdims()
                       : 0;
  if (rank < 1) throw DataError("has no axis of rows; a table needs shape [rows, ...]");
  const H5::DataType type = data.getDataType();
  Hdf5Element element = element_of(type.getId());
  if (static_cast<std::size_t>(rank) + element.extents.size() > Shape::max_rank) {
    throw DataError("has rank " + std::to_string(rank) + ", at most " +
                    std::to_string(Shape::max_rank) + " axes can be read");
  }
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  space.getSimpleExtentDims(extents.data());
  extents.insert(extents.end(), element.extents.begin(), element.extents.end());

  dataset.dtype = element.dtype;
  dataset.swap = element.swap;
  dataset.row_bytes = size_of(element.dtype);
  std::vector<std::int64_t> row;
  for (auto extent = extents.begin() + 1; extent != extents.end(); ++extent) {
    dataset.row_bytes = product(dataset.row_bytes, *extent);
    row.push_back(static_cast<std::int64_t>(*extent));
  }
  if (dataset.row_bytes == 0)
    throw DataError("has empty rows; every axis but the first needs an extent");
  dataset.bytes = product(dataset.row_bytes, extents.front());
  dataset.rows = static_cast<std::int64_t>(extents.front());
  dataset.row = Shape(std::span<const std::int64_t>(row));
}

void describe_chunks(const H5::DataSet& data, const H5::DSetCreatPropList& creation,
                     std::size_t memory, Hdf5Dataset& dataset) {
  const bool filtered = !check_filters(creation).empty();
  dataset.library = filtered ? "is chunked and compressed" : "is chunked";
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = creation.getChunk(H5S_MAX_RANK, extents.data());
  std::size_t bytes = data.getDataType().getSize();
  for (int axis = 0; axis < rank; ++axis) {
    bytes = product(bytes, extents[static_cast<std::size_t>(axis)]);
  }
  if (bytes > memory) {
    throw DataError("is stored in chunks of " + std::to_string(bytes) +
                    " bytes, over the limit of " + std::to_string(memory) +
                    "; raise the memory of the table or rewrite it with smaller chunks");
  }
  dataset.chunk_bytes = bytes;
  dataset.chunk_rows = static_cast<std::int64_t>(extents[0]);
}

void describe_contiguous(const H5::DataSet& data, std::uint64_t file_bytes, Hdf5Dataset& dataset) {
  if (dataset.bytes == 0) return;
  if (data.getStorageSize() == 0) {
    dataset.library = "was never written (it reads as its fill value)";
    return;
  }
  if (data.getStorageSize() != dataset.bytes) {
    throw DataError("declares " + std::to_string(dataset.bytes) + " bytes but stores " +
                    std::to_string(data.getStorageSize()) + "; the file is damaged");
  }
  dataset.offset = data.getOffset();
  std::uint64_t end = 0;
  if (__builtin_add_overflow(dataset.offset, dataset.bytes, &end) || end > file_bytes) {
    throw DataError("ends at byte " + std::to_string(end) + " but the file has " +
                    std::to_string(file_bytes) + "; the file is truncated, copy it again");
  }
}

Hdf5Dataset describe(const Hdf5File& file, const std::string& field, const std::string& path,
                     std::size_t memory) {
  const H5::DataSet data = open_dataset(file, path);
  const H5::DSetCreatPropList creation = data.getCreatePlist();
  check_storage(creation);
  Hdf5Dataset dataset;
  dataset.field = field;
  dataset.path = path;
  describe_shape(data, dataset);
  switch (creation.getLayout()) {
    case H5D_CONTIGUOUS:
      describe_contiguous(data, file.size(), dataset);
      break;
    case H5D_COMPACT:
      dataset.library = "is compact";
      break;
    default:
      describe_chunks(data, creation, memory, dataset);
  }
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
      throw DataError("lies behind an external link to \"" + refused +
                      "\", which is refused; copy the data into this file");
    }
    throw ConfigError("[hdf5] " + file.path().string() + ": there is no dataset \"" + path +
                      "\", the file has " + names_in(file) + "; name one of these");
  }
}

Hdf5Dataset describe_dataset(const Hdf5File& file, const std::string& field,
                             const std::string& path, std::size_t memory) {
  Hdf5Dataset dataset;
  try {
    file.thread().run([&] { dataset = describe(file, field, path, memory); });
  } catch (const DataError& error) {
    throw DataError("[hdf5] " + file.path().string() + ": dataset \"" + path + "\" " +
                    error.what());
  }
  return dataset;
}

}  // namespace headrace::inline v1::detail
