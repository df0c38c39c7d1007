#include <headrace/benchmarks/twins/make_leak_data.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>

#include <algorithm>

namespace headrace::inline v1::bench {

namespace {

constexpr std::int64_t longs = 40;
constexpr std::int64_t shorts = 2;
constexpr std::int64_t mels = 64;
constexpr std::int64_t frames = 5;
constexpr std::int64_t segments = longs * shorts;
constexpr std::int16_t leak = 2;
constexpr std::int16_t normal = 3;

/// Float16 between -32 and -64, leaks in the louder half: something can be learned.
void fill(Tensor& block, std::int64_t first) {
  auto* bits = static_cast<std::uint16_t*>(block.raw());
  const std::int64_t cells = block.elements() / block.shape()[0];
  for (std::int64_t row = 0; row < block.shape()[0]; ++row) {
    const unsigned louder = (first + row) % 2 == 0 ? 0 : 0x200U;
    Random random({.seed = 1, .position = first + row});
    for (std::int64_t i = 0; i < cells; ++i)
      bits[row * cells + i] = static_cast<std::uint16_t>(0xd000U | louder | random() >> 23U);
  }
}

}  // namespace

void make_leak_data(const std::filesystem::path& file, std::int64_t recordings) {
  if (std::filesystem::exists(file)) return;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  Hdf5Writer writer(file);
  writer.add("/segments_mel", DType::float16, recordings, Shape{longs, shorts, mels, frames});
  writer.add("/labels", DType::int16, recordings, Shape{});
  writer.add("/flat_mel", DType::float16, recordings * segments, Shape{mels, frames});
  writer.add("/flat_label", DType::int64, recordings * segments, Shape{});
  constexpr std::int64_t part = 64;
  for (std::int64_t first = 0; first < recordings; first += part) {
    const std::int64_t count = std::min(part, recordings - first);
    Tensor mel = Tensor::empty(DType::float16, Shape{count, longs, shorts, mels, frames});
    Tensor labels = Tensor::empty(DType::int16, Shape{count});
    Tensor flat = Tensor::empty(DType::int64, Shape{count * segments});
    fill(mel, first);
    for (std::int64_t row = 0; row < count; ++row) {
      const bool is_leak = (first + row) % 2 == 0;
      labels.data<std::int16_t>()[row] = is_leak ? leak : normal;
      std::fill_n(flat.data<std::int64_t>() + row * segments, segments, is_leak ? 1 : 0);
    }
    writer.append("/segments_mel", mel);
    writer.append("/labels", labels);
    writer.append("/flat_mel", mel.reshaped(Shape{count * segments, mels, frames}));
    writer.append("/flat_label", flat);
  }
  writer.attribute("labels_json", R"(["BACKGROUND", "CRACK", "LEAK", "NORMAL", "UNCLASSIFIED"])");
  writer.attribute("config_json", R"({"mean_db": -44.0, "std_db": 8.0})");
  writer.finish();
}

}  // namespace headrace::inline v1::bench
