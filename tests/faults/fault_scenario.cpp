#include <headrace/loaders/audio/audio_folder.h>
#include <headrace/loaders/audio/decode_audio.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/tests/faults/fault_parts.h>
#include <headrace/tests/faults/fault_scenario.h>
#include <headrace/tests/loaders/hdf5_files.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

template <class T>
void append(Bytes& file, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  file.insert(file.end(), first, first + sizeof value);
}

void append_text(Bytes& file, std::string_view text) {
  for (const char c : text)
    file.push_back(static_cast<std::byte>(c));
}

constexpr int sound_rate = 16'000;
constexpr std::int64_t sound_samples = 200;

Bytes wav_of(const std::vector<std::int16_t>& samples) {
  const auto bytes = static_cast<std::uint32_t>(samples.size() * sizeof(std::int16_t));
  Bytes file;
  append_text(file, "RIFF");
  append(file, bytes + 36);
  append_text(file, "WAVEfmt ");
  append(file, std::uint32_t{16});
  append(file, std::uint16_t{1});  // integers
  append(file, std::uint16_t{1});  // channels
  append(file, std::uint32_t{sound_rate});
  append(file, std::uint32_t{2 * sound_rate});
  append(file, std::uint16_t{2});   // bytes of a frame
  append(file, std::uint16_t{16});  // bits of a sample
  append_text(file, "data");
  append(file, bytes);
  for (const std::int16_t sample : samples)
    append(file, sample);
  return file;
}

FaultScenario audio(const fs::path& folder) {
  FaultScenario scenario{.records = fault_records, .reopens = true};
  for (std::int64_t i = 0; i < fault_records; ++i) {
    const bool second = i >= fault_records / 2;
    std::vector<std::int16_t> samples;
    std::vector<float> heard;
    for (std::int64_t k = 0; k < sound_samples; ++k) {
      samples.push_back(static_cast<std::int16_t>((i + 1) * 7919 * (k + 1)));
      heard.push_back(static_cast<float>(samples.back()) / 32768.0F);
    }
    const fs::path place = folder / (second ? "siren" : "bell");
    fs::create_directories(place);
    put(place / (std::to_string(100 + i) + ".wav"), wav_of(samples));
    scenario.rows["waveform"].push_back(text_of(heard.data(), heard.size() * sizeof(float)));
    scenario.rows["label"].push_back(bytes_of_value<std::int64_t>(second ? 1 : 0));
  }
  scenario.open = [folder] {
    return Pipeline::from(std::make_shared<const AudioFolder>(folder))
        .order(Shuffled{.seed = fault_seed})
        .then(DecodeAudio{.sample_rate = sound_rate,
                          .samples = sound_samples,
                          .piece = DecodeAudio::Piece::start})
        .batch({.size = fault_batch});
  };
  return scenario;
}

/// The rows of an array in a file, opened anew with every source.
class NpyRows final : public Source {
 public:
  explicit NpyRows(const fs::path& file) : file_(file) {}
  std::string name() const override { return "npy"; }
  std::int64_t size() const override { return file_.shape()[0]; }
  Schema fields() const override {
    return {FieldSpec::fixed("values", file_.dtype(), file_.shape().row())};
  }
  void read(std::int64_t index, Sample& sample) const override {
    sample.set("values", file_.rows(index, 1).row(0));
  }
  bool blocking() const override { return true; }

 private:
  NpyFile file_;
};

FaultScenario npy(const fs::path& folder) {
  constexpr std::size_t columns = 24;
  FaultScenario scenario{.records = fault_records};
  const auto values = noise(fault_records * columns);
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (18, 24), }";
  header.resize(117, ' ');
  header += '\n';
  Bytes file;
  append_text(file, "\x93NUMPY\x01");
  append(file, '\0');
  append(file, static_cast<std::uint16_t>(header.size()));
  append_text(file, header);
  for (std::size_t i = 0; i < fault_records; ++i) {
    const std::string row = text_of(values.data() + i * columns, columns);
    append_text(file, row);
    scenario.rows["values"].push_back(row);
  }
  put(folder / "values.npy", file);
  scenario.open = [path = folder / "values.npy"] {
    return Pipeline::from(std::make_shared<const NpyRows>(path))
        .order(Shuffled{.seed = fault_seed})
        .batch({.size = fault_batch});
  };
  return scenario;
}

void make_table(const fs::path& file, bool chunked, FaultScenario& scenario) {
  constexpr std::size_t columns = 24;
  const auto values = noise(fault_records * columns);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < fault_records; ++i) {
    labels.push_back(i * i - 7);
    scenario.rows["values"].push_back(
        text_of(values.data() + static_cast<std::size_t>(i) * columns, columns));
    scenario.rows["label"].push_back(bytes_of_value(labels.back()));
  }
  const H5::H5File made(file.c_str(), H5F_ACC_TRUNC);
  Planned rows{
      .path = "values", .type = H5::PredType::STD_U8LE, .extents = {fault_records, columns}};
  Planned numbers{.path = "label", .type = H5::PredType::STD_I64LE, .extents = {fault_records}};
  if (chunked) {
    rows.chunk = {4, columns};
    rows.deflate = 1;
    numbers.chunk = {4};
  }
  write(made, rows, values.data(), H5::PredType::NATIVE_UINT8);
  write(made, numbers, labels.data(), H5::PredType::NATIVE_INT64);
}

FaultScenario table_of(const fs::path& folder, Residence residence, bool chunked) {
  FaultScenario scenario{.records = fault_records};
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
  FaultScenario scenario{.records = fault_records};
  std::vector<unsigned char> pictures = idx_header(8, std::vector{fault_records, std::int64_t{5}});
  std::vector<unsigned char> labels = idx_header(8, std::vector{fault_records});
  for (std::int64_t i = 0; i < fault_records; ++i) {
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
  if (name == "images") return image_scenario(folder, false, false);
  if (name == "images-cached") return image_scenario(folder, true, false);
  if (name == "images-replace") return image_scenario(folder, false, true);
  if (name == "cache-memory") return cache_scenario(folder, false);
  if (name == "cache-disk") return cache_scenario(folder, true);
  if (name == "audio") return audio(folder);
  if (name == "npy") return npy(folder);
  if (name == "pack") return pack_scenario(folder);
  if (name == "hdf5-pread") return table_of(folder, Residence::pread, false);
  if (name == "hdf5-resident") return table_of(folder, Residence::resident, false);
  if (name == "hdf5-chunks") return table_of(folder, Residence::pread, true);
  if (name == "hdf5-chunks-resident") return table_of(folder, Residence::resident, true);
  if (name == "hdf5-library") return table_of(folder, Residence::library, true);
  if (name == "hdf5-library-plain") return table_of(folder, Residence::library, false);
  if (name == "idx") return idx(folder);
  if (name == "volumes") return volume_scenario(folder, true);
  if (name == "volumes-plain") return volume_scenario(folder, false);
  throw std::runtime_error("no scenario \"" + name + "\"");
}

}  // namespace headrace::test
