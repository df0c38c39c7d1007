#include <headrace/tests/faults/fault_scenario.h>

#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/image_files.h>

#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t records = 18;
constexpr int width = 32;
constexpr int height = 24;

std::string text_of(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}

template <class T>
std::string bytes_of_value(T value) {
  return text_of(&value, sizeof value);
}

std::string negative(std::string bytes) {
  for (char& c : bytes)
    c = static_cast<char>(~c);
  return bytes;
}

void put(const fs::path& file, const Bytes& bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// A step with a limit: every byte turned round.
struct Negative {
  std::string name() const { return "negative"; }
  void operator()(Sample& sample) const {
    for (std::uint8_t& value : sample["image"].values<std::uint8_t>())
      value = static_cast<std::uint8_t>(~value);
  }
};

/// A step of the batch: the same bytes turned round once more, in memory of the batch.
struct Positive {
  std::string name() const { return "positive"; }
  Schema schema(const Schema& in) const {
    Schema out = in;
    FieldSpec made = *in.find("image");
    made.name = "positive";
    out.put(made);
    return out;
  }
  void operator()(Batch& batch) const {
    const Tensor image = batch["image"];
    const auto from = image.values<std::uint8_t>();
    const auto to = batch.make("positive", DType::uint8, image.shape()).values<std::uint8_t>();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<std::uint8_t>(~from[i]);
  }
};

/// Every other record a JPEG, the others PNG; two classes.
void make_images(const fs::path& folder, FaultScenario& scenario) {
  for (std::int64_t i = 0; i < records; ++i) {
    const bool second = i >= records / 2;
    const bool jpeg = i % 2 == 0;
    const fs::path place = folder / (second ? "dog" : "cat");
    fs::create_directories(place);
    const Pixels pixels = picture(width, height, 3, static_cast<unsigned>(i + 1));
    const Bytes file =
        jpeg ? encode_jpeg({.width = width, .height = height}, pixels)
             : encode_png({.width = width, .height = height}, pixels, std::size_t{3} * width);
    put(place / (std::to_string(100 + i) + (jpeg ? ".jpg" : ".png")), file);
    const Pixels shown = jpeg ? plain_decode(file) : pixels;
    const std::string bytes = text_of(shown.data(), shown.size());
    scenario.rows["image"].push_back(negative(bytes));
    scenario.rows["positive"].push_back(bytes);
    scenario.rows["label"].push_back(bytes_of_value<std::int64_t>(second ? 1 : 0));
  }
}

/// The same records, always read by the I/O threads: never by a worker from pages in memory.
class ByIoThreads final : public Source {
 public:
  explicit ByIoThreads(const fs::path& folder) : source_(folder) {}
  std::string name() const override { return source_.name(); }
  std::int64_t size() const override { return source_.size(); }
  Schema fields() const override { return source_.fields(); }
  void read(std::int64_t index, Sample& sample) const override { source_.read(index, sample); }
  bool blocking() const override { return true; }
  std::string origin(std::int64_t index) const override { return source_.origin(index); }

 private:
  ImageFolder source_;
};

std::shared_ptr<const Source> open_images(const fs::path& folder, bool cached) {
  if (cached) return std::make_shared<const ImageFolder>(folder);
  return std::make_shared<const ByIoThreads>(folder);
}

FaultScenario images(const fs::path& folder, bool cached, bool replaces) {
  FaultScenario scenario{.records = records, .replaces = replaces, .reopens = true};
  make_images(folder, scenario);
  scenario.options.fuse = !replaces;
  scenario.open = [folder, cached, replaces] {
    return Pipeline::from(open_images(folder, cached))
        .order(Shuffled{.seed = fault_seed})
        .on_bad_sample({.rule = replaces ? BadSamples::Rule::replace : BadSamples::Rule::fail})
        .then(DecodeImage{.crop = ResizeTo{.height = height, .width = width}})
        .then(Negative{}, {.limit = 1})
        .batch({.size = fault_batch})
        .then(Positive{});
  };
  return scenario;
}

/// Every run packs, or goes on where a run before it ended, and reads the pack.
FaultScenario pack(const fs::path& folder) {
  constexpr int side = 192;  // a file grows several times while it is written
  FaultScenario scenario{.records = records};
  for (std::int64_t i = 0; i < records; ++i) {
    const Pixels pixels = picture(side, side, 3, static_cast<unsigned>(i + 1));
    const Bytes file = encode_jpeg({.width = side, .height = side}, pixels);
    fs::create_directories(folder / "data/all");
    put(folder / "data/all" / (std::to_string(100 + i) + ".jpg"), file);
    const Pixels shown = plain_decode(file);
    scenario.rows["image"].push_back(text_of(shown.data(), shown.size()));
  }
  scenario.open = [data = folder / "data", file = folder / "data.pack"] {
    ::unlink(file.c_str());
    const PackProgress done =
        pack_images(ImageFolder(data), {.file = file, .crop_index = true, .threads = 2});
    if (done.crop_indexed != records) throw std::runtime_error("an image has no index");
    return Pipeline::from(std::make_shared<const ImagePack>(file))
        .order(Shuffled{.seed = fault_seed})
        .then(DecodeImage{.crop = ResizeTo{.height = side, .width = side}})
        .batch({.size = fault_batch});
  };
  return scenario;
}

void make_table(const fs::path& file, bool chunked, FaultScenario& scenario) {
  constexpr std::size_t columns = 24;
  const auto values = noise(records * columns);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < records; ++i) {
    labels.push_back(i * i - 7);
    scenario.rows["values"].push_back(
        text_of(values.data() + static_cast<std::size_t>(i) * columns, columns));
    scenario.rows["label"].push_back(bytes_of_value(labels.back()));
  }
  const H5::H5File made(file.c_str(), H5F_ACC_TRUNC);
  Planned rows{.path = "values", .type = H5::PredType::STD_U8LE, .extents = {records, columns}};
  Planned numbers{.path = "label", .type = H5::PredType::STD_I64LE, .extents = {records}};
  if (chunked) {
    rows.chunk = {4, columns};
    rows.deflate = 1;
    numbers.chunk = {4};
  }
  write(made, rows, values.data(), H5::PredType::NATIVE_UINT8);
  write(made, numbers, labels.data(), H5::PredType::NATIVE_INT64);
}

FaultScenario table_of(const fs::path& folder, Residence residence, bool chunked) {
  FaultScenario scenario{.records = records};
  const fs::path file = folder / "table.h5";
  make_table(file, chunked, scenario);
  scenario.open = [file, residence] {
    return Pipeline::from(Hdf5Table({.file = file,
                                     .fields = {{.dataset = "/values"}, {.dataset = "/label"}},
                                     .residence = residence}))
        .order(Shuffled{.seed = fault_seed})
        .batch({.size = fault_batch});
  };
  return scenario;
}

std::vector<unsigned char> idx_header(unsigned char type, std::span<const std::int64_t> extents) {
  std::vector<unsigned char> bytes = {0, 0, type, static_cast<unsigned char>(extents.size())};
  for (std::int64_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<unsigned char>(extent >> shift));
  }
  return bytes;
}

FaultScenario idx(const fs::path& folder) {
  FaultScenario scenario{.records = records};
  std::vector<unsigned char> pictures = idx_header(8, std::vector{records, std::int64_t{5}});
  std::vector<unsigned char> labels = idx_header(8, std::vector{records});
  for (std::int64_t i = 0; i < records; ++i) {
    const Pixels row = picture(5, 1, 1, static_cast<unsigned>(i + 1));
    pictures.insert(pictures.end(), row.begin(), row.end());
    labels.push_back(static_cast<unsigned char>(i % 10));
    scenario.rows["image"].push_back(text_of(row.data(), row.size()));
    scenario.rows["label"].push_back(bytes_of_value<std::int64_t>(i % 10));
  }
  const fs::path images_file = folder / "images.gz";
  const fs::path labels_file = folder / "labels";
  gzFile packed = ::gzopen(images_file.c_str(), "wb");
  const auto size = static_cast<unsigned>(pictures.size());
  const bool written = ::gzwrite(packed, pictures.data(), size) == static_cast<int>(size);
  if (::gzclose(packed) != Z_OK || !written) throw std::runtime_error("cannot write images.gz");
  std::ofstream(labels_file, std::ios::binary)
      .write(reinterpret_cast<const char*>(labels.data()),
             static_cast<std::streamsize>(labels.size()));
  scenario.open = [images_file, labels_file] {
    return Pipeline::from(IdxDataset({.images = images_file, .labels = labels_file}))
        .order(Shuffled{.seed = fault_seed})
        .batch({.size = fault_batch});
  };
  return scenario;
}

}  // namespace

FaultScenario make_fault_scenario(const std::string& name, const fs::path& folder) {
  fs::create_directories(folder);
  if (name == "images") return images(folder, false, false);
  if (name == "images-cached") return images(folder, true, false);
  if (name == "images-replace") return images(folder, false, true);
  if (name == "pack") return pack(folder);
  if (name == "hdf5-pread") return table_of(folder, Residence::pread, false);
  if (name == "hdf5-resident") return table_of(folder, Residence::resident, false);
  if (name == "hdf5-chunks") return table_of(folder, Residence::pread, true);
  if (name == "hdf5-chunks-resident") return table_of(folder, Residence::resident, true);
  if (name == "hdf5-library") return table_of(folder, Residence::library, true);
  if (name == "idx") return idx(folder);
  throw std::runtime_error("no scenario \"" + name + "\"");
}

}  // namespace headrace::test
