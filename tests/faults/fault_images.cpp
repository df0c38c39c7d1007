#include <headrace/loaders/cache/decoded_cache.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/faults/fault_parts.h>

#include <memory>

#include <unistd.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr int width = 32;
constexpr int height = 24;

std::string negative(std::string bytes) {
  for (char& c : bytes)
    c = static_cast<char>(~c);
  return bytes;
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
  for (std::int64_t i = 0; i < fault_records; ++i) {
    const bool second = i >= fault_records / 2;
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

}  // namespace

FaultScenario image_scenario(const fs::path& folder, bool cached, bool replaces) {
  FaultScenario scenario{.records = fault_records, .replaces = replaces, .reopens = true};
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

/// Every run keeps what it decodes in a cache of its own, in memory or on disk.
FaultScenario cache_scenario(const fs::path& folder, bool disk) {
  FaultScenario scenario{.records = fault_records, .reopens = true};
  make_images(folder / "images", scenario);
  scenario.open = [images = folder / "images", place = disk ? folder : fs::path()] {
    const DecodedCache cache(std::make_shared<const ImageFolder>(images),
                             {.bytes = 1_MiB, .folder = place});
    return Pipeline::from(cache.source())
        .order(Shuffled{.seed = fault_seed})
        .then(cache.keep(DecodeImage{.crop = ResizeTo{.height = height, .width = width}}))
        .then(Negative{})
        .batch({.size = fault_batch})
        .then(Positive{});
  };
  return scenario;
}

/// Every run packs, or goes on where a run before it ended, and reads the pack.
FaultScenario pack_scenario(const fs::path& folder) {
  constexpr int side = 192;  // a file grows several times while it is written
  FaultScenario scenario{.records = fault_records};
  for (std::int64_t i = 0; i < fault_records; ++i) {
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
    if (done.crop_indexed != fault_records) throw std::runtime_error("an image has no index");
    return Pipeline::from(std::make_shared<const ImagePack>(file))
        .order(Shuffled{.seed = fault_seed})
        .then(DecodeImage{.crop = ResizeTo{.height = side, .width = side}})
        .batch({.size = fault_batch});
  };
  return scenario;
}

}  // namespace headrace::test
