#include <headrace/tests/fuzz/hdf5_file_seeds.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/loaders/hdf5_stored_chunks.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

namespace headrace::test {
namespace {

using P = H5::PredType;
using Bytes = std::vector<std::byte>;

/// Makes seeds one after the other, each a file of its own.
class Maker {
 public:
  std::vector<Bytes> take() { return std::move(seeds_); }

  template <class Write>
  void file(const Write& write) {
    write(path_);
    std::ifstream in(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    seeds_.emplace_back(first, first + text.size());
  }
  /// The dataset "x" of int32 [20, 6].
  void numbers(const H5::DSetCreatPropList& creation) {
    file([&](const auto& path) {
      const hsize_t extents[2] = {20, 6};
      const std::vector<std::int32_t> values(120, 1000);
      H5::H5File(path.c_str(), H5F_ACC_TRUNC)
          .createDataSet("x", P::STD_I32LE, H5::DataSpace(2, extents), creation)
          .write(values.data(), P::NATIVE_INT32);
    });
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "x.h5";
  std::vector<Bytes> seeds_;
};

H5::DSetCreatPropList chunks_of_rows(hsize_t rows) {
  H5::DSetCreatPropList creation;
  const hsize_t chunk[2] = {rows, 6};
  creation.setChunk(2, chunk);
  return creation;
}

void add_layouts(Maker& maker) {
  maker.numbers({});
  H5::DSetCreatPropList compact;
  compact.setLayout(H5D_COMPACT);
  maker.numbers(compact);
  std::size_t next = 0;
  const std::vector<MatrixType> types = matrix_types();
  for (const Storage& storage : storages()) {
    maker.file(
        [&](const auto& path) { write_matrix_file(path, storage, types[next++ % types.size()]); });
  }
}

/// Filters that only the library undoes.
void add_library_filters(Maker& maker) {
  H5::DSetCreatPropList nbit = chunks_of_rows(7);
  nbit.setNbit();
  maker.numbers(nbit);
  const H5::DSetCreatPropList scale = chunks_of_rows(7);
  H5Pset_scaleoffset(scale.getId(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
  maker.numbers(scale);
}

/// Filters that only we undo.
void add_stored_chunks(Maker& maker) {
  for (const StoredChunk& chunk : stored_chunks()) {
    maker.file([&](const auto& path) {
      H5::DSetCreatPropList creation;
      const hsize_t extent = chunk.count;
      creation.setChunk(1, &extent);
      for (const detail::ChunkFilter& filter : chunk.filters) {
        const std::vector<unsigned> values(filter.values.begin(), filter.values.end());
        H5Pset_filter(creation.getId(), filter.id, H5Z_FLAG_OPTIONAL, values.size(), values.data());
      }
      const H5::IntType type(chunk.element == 1   ? P::STD_U8LE
                             : chunk.element == 2 ? P::STD_U16LE
                             : chunk.element == 4 ? P::STD_U32LE
                                                  : P::STD_U64LE);
      const Bytes stored = chunk.bytes();
      const hsize_t offset = 0;
      const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
      const H5::DataSet data = file.createDataSet("x", type, H5::DataSpace(1, &extent), creation);
      H5Dwrite_chunk(data.getId(), H5P_DEFAULT, chunk.skipped, &offset, stored.size(),
                     stored.data());
    });
  }
}

/// A file with one dataset "x" of eight elements of that type in chunks of three, and as it is.
void add_type(Maker& maker, const H5::DataType& type, const void* values) {
  for (const bool chunked : {false, true}) {
    maker.file([&](const auto& path) {
      const hsize_t extent = 8, chunk = 3;
      H5::DSetCreatPropList creation;
      if (chunked) creation.setChunk(1, &chunk);
      H5::H5File(path.c_str(), H5F_ACC_TRUNC)
          .createDataSet("x", type, H5::DataSpace(1, &extent), creation)
          .write(values, type);
    });
  }
}

void add_types(Maker& maker) {
  std::int32_t numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};
  const hvl_t list{3, numbers};
  const std::vector<hvl_t> lists(8, list);
  add_type(maker, H5::VarLenType(P::NATIVE_INT32), lists.data());
  const std::vector<const char*> texts(8, "text");
  add_type(maker, H5::StrType(P::C_S1, H5T_VARIABLE), texts.data());
  const std::string fixed(64, 'a');
  add_type(maker, H5::StrType(P::C_S1, 8), fixed.data());
  H5::EnumType truth(P::NATIVE_INT8);
  std::int8_t no = 0, yes = 1;
  truth.insert("FALSE", &no);
  truth.insert("TRUE", &yes);
  const std::vector<std::int8_t> truths{0, 1, 1, 0, 0, 1, 0, 1};
  add_type(maker, truth, truths.data());
  const hsize_t side = 4;
  const std::vector<float> rows(32, 0.5F);
  add_type(maker, H5::ArrayType(P::NATIVE_FLOAT, 1, &side), rows.data());
}

/// Groups, links, attributes, and a virtual dataset of the same file.
void add_structure(Maker& maker) {
  maker.file([](const auto& path) {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::Group group = file.createGroup("g").createGroup("inner");
    const hsize_t extents[2] = {6, 4};
    const H5::DataSpace space(2, extents);
    const std::vector<std::int16_t> values(24, 7);
    const H5::DataSet data = group.createDataSet("x", P::STD_I16LE, space);
    data.write(values.data(), P::NATIVE_INT16);
    file.link(H5L_TYPE_SOFT, "/g/inner/x", "soft");
    file.link(H5L_TYPE_HARD, "/g", "/g/inner/loop");
    data.createAttribute("scale", P::NATIVE_INT16, space).write(P::NATIVE_INT16, values.data());
    const H5::StrType text(P::C_S1, H5T_VARIABLE);
    file.createAttribute("made by", text, H5::DataSpace(H5S_SCALAR))
        .write(text, std::string("nobody"));
  });
  maker.file([](const auto& path) {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const hsize_t all[2] = {6, 4}, half[2] = {3, 4}, zero[2] = {0, 0};
    const std::vector<std::int16_t> values(12, 7);
    file.createDataSet("source", P::STD_I16LE, H5::DataSpace(2, half))
        .write(values.data(), P::NATIVE_INT16);
    const H5::DataSpace place(2, all), source(2, half);
    place.selectHyperslab(H5S_SELECT_SET, half, zero);
    const H5::DSetCreatPropList creation;
    H5Pset_virtual(creation.getId(), place.getId(), ".", "source", source.getId());
    file.createDataSet("x", P::STD_I16LE, H5::DataSpace(2, all), creation);
  });
}

}  // namespace

const std::vector<Bytes>& hdf5_seeds() {
  static const std::vector<Bytes> seeds = [] {
    Maker maker;
    add_layouts(maker);
    add_library_filters(maker);
    add_stored_chunks(maker);
    add_types(maker);
    add_structure(maker);
    return maker.take();
  }();
  return seeds;
}

}  // namespace headrace::test
