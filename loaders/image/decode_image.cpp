#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/detail/batch_decoder.h>
#include <headrace/loaders/image/device_decode.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include <unistd.h>

namespace headrace::inline v1 {
namespace {

std::string sides(int height, int width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

/// Nothing of an earlier sample stays where a decode failed.
void clear(Tensor& tensor) {
  std::memset(tensor.raw(), 0, tensor.bytes());
}

constexpr std::size_t most_file_bytes = std::size_t{64} << 20;
constexpr std::int64_t window_bytes = sizeof(detail::DevicePicture);

detail::BatchDecoder::Fields fields_of(const std::string& field) {
  return {.pictures = field, .files = field + ".file", .windows = field + ".window"};
}

}  // namespace

std::size_t default_sample_limit(std::size_t memory, int threads) {
  if (memory == 0) {
    memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
             static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
  const int workers = threads > 0 ? threads : usable_cores();
  return std::min<std::size_t>(512_MiB, memory / 8 / static_cast<std::size_t>(workers));
}

/// What was drawn for a sample.
struct DecodeImage::Draw {
  const ImageWindow& window;
  const ImageDecoder::Target& target;
};

void DecodeImage::check_device() const {
  require_device_decoder(device, name());
  if (!(device_share >= 0.0 && device_share <= 1.0)) {
    throw ConfigError("[" + name() + "] device_share must lie in [0, 1], got " +
                      std::to_string(device_share));
  }
  if (device_file_bytes < 1 || device_file_bytes > most_file_bytes) {
    throw ConfigError("[" + name() + "] device_file_bytes must lie in [1, " +
                      std::to_string(most_file_bytes) + "], got " +
                      std::to_string(device_file_bytes));
  }
}

/// For a file, or for the picture where the device does not take it after all.
std::int64_t DecodeImage::file_room() const {
  const auto [height, width] = size_of(crop);
  return std::max(static_cast<std::int64_t>(device_file_bytes), std::int64_t{3} * height * width);
}

void DecodeImage::check_file(const Schema& in, const std::string& file) const {
  const FieldSpec& spec = in.at(file, name());
  if (spec.dtype == DType::uint8 && spec.kind == FieldSpec::Kind::ragged) return;
  throw ConfigError("[" + name() + "] field \"" + file +
                    "\" must be the ragged uint8 bytes of a file, got " + to_string(spec));
}

Schema DecodeImage::schema(const Schema& in) const {
  check(crop, name());
  if (!(flip >= 0.0F && flip <= 1.0F)) {
    throw ConfigError("[" + name() + "] flip must be a probability, got " + std::to_string(flip));
  }
  if (mask_dtype != DType::uint8 && mask_dtype != DType::uint16) {
    throw ConfigError("[" + name() + "] mask_dtype must be uint8 or uint16, got " +
                      std::string(name_of(mask_dtype)));
  }
  check_mask_colours(mask_colours, "decode");
  if (device.is_cuda()) check_device();
  check_file(in, field);
  const auto [height, width] = size_of(crop);
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::uint8, Shape{height, width, 3}));
  for (const std::string& mask : masks) {
    check_file(in, mask);
    if (mask == field) throw ConfigError("[" + name() + "] \"" + mask + "\" is its own mask");
    out.put(FieldSpec::fixed(mask, mask_dtype, Shape{height, width}));
  }
  if (device.is_cuda()) {
    const detail::BatchDecoder::Fields fields = fields_of(field);
    out.put(FieldSpec::on_host(fields.files, DType::uint8, Shape{file_room()}));
    out.put(FieldSpec::on_host(fields.windows, DType::uint8, Shape{window_bytes}));
  }
  return out;
}

std::size_t DecodeImage::working_bytes(const Schema&) const {
  // A pre-scaled crop has less than twice the target's sides, or more along the side its ratio
  // stretches. Of a mask the crop's labels are held, as large as the file has them.
  const auto [height, width] = size_of(crop);
  const std::size_t pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  const std::size_t scratch = pixels * 4 * 8 + (masks.empty() ? 0 : pixels * 2 * 16);
  return scratch + (sample_limit > 0 ? sample_limit : default_sample_limit());
}

/// The header of a file, which in the first epoch is read to its end before, if that is asked for.
ImageHeader DecodeImage::open(const Tensor& file, std::int64_t epoch) const {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  static const std::size_t by_default = default_sample_limit();
  const std::size_t most_bytes = sample_limit > 0 ? sample_limit : by_default;
  if (check_first_epoch && epoch == 0) decoder.check(file.as_bytes(), most_bytes);
  return decoder.open(file.as_bytes(), most_bytes);
}

void DecodeImage::operator()(Sample& sample, Random& random) const {
  const Tensor file = sample[field];
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = open(file, sample.origin().epoch);
  const ImageWindow window = place(crop, header.shown_width(), header.shown_height(), random);
  const bool flipped = random.chance(flip);
  const auto [height, width] = size_of(crop);
  Tensor& image = sample.make(field, DType::uint8, Shape{height, width, 3});
  const ImageDecoder::Target target{.rgb = image.data<std::uint8_t>(),
                                    .height = height,
                                    .width = width,
                                    .resample = resample,
                                    .flip = flipped,
                                    .prescale = prescale};
  try {
    if (!device.is_cuda() || !leave_to_device(sample, file, {window, target}))
      decoder.decode(window, target);
    decode_masks(sample, window, header, flipped);
  } catch (...) {
    clear(image);
    throw;
  }
}

/// By the record, not by what anybody is doing at the moment.
bool DecodeImage::is_for_device(std::int64_t index) const {
  if (device_share >= 1.0) return true;
  Random random(RandomKey{.position = index, .operation = 0x6a706567});
  return random.uniform() < device_share;
}

/// Says in the fields on the host what the device has to do for the sample; false: nothing.
bool DecodeImage::leave_to_device(Sample& sample, const Tensor& file, const Draw& draw) const {
  const detail::BatchDecoder::Fields fields = fields_of(field);
  detail::DevicePicture picture{};
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const bool is_shared = is_for_device(sample.origin().index);
  const bool leaves = is_shared && file.bytes() <= device_file_bytes &&
                      decoder.describe(draw.window, draw.target, device, picture);
  const Tensor& room = sample.make(fields.files, DType::uint8, Shape{file_room()});
  if (leaves) std::memcpy(room.raw(), file.raw(), picture.file_bytes);
  const Tensor& window = sample.make(fields.windows, DType::uint8, Shape{window_bytes});
  std::memcpy(window.raw(), &picture, sizeof picture);
  if (is_shared && !leaves) detail::count_device_decodes({.on_cpu = 1});
  return leaves;
}

std::optional<DeviceWork> DecodeImage::device_work() const {
  if (!device.is_cuda()) return std::nullopt;
  const detail::BatchDecoder::Fields fields = fields_of(field);
  const auto describe = [device = device, share = device_share] {
    std::string text;
    try {
      text = device_decoder(device);
    } catch (const Error& error) {
      text = error.what();
    }
    if (share >= 1.0) return text;
    return text + "; for " + std::to_string(static_cast<int>(share * 100 + 0.5)) +
           " % of the records";
  };
  const auto begin = [device = device, fields, resample = resample](std::int64_t rows) {
    const auto decoder = std::make_shared<detail::BatchDecoder>(device, rows, fields, resample);
    return [decoder](Batch& batch, Stream stream) { decoder->run(batch, stream); };
  };
  return DeviceWork{.device = device,
                    .fields = {fields.files, fields.windows},
                    .device_bytes = detail::BatchDecoder::device_bytes,
                    .describe = describe,
                    .begin = begin};
}

void DecodeImage::decode_masks(Sample& sample, const ImageWindow& window, const ImageHeader& header,
                               bool flipped) const {
  const auto [height, width] = size_of(crop);
  for (const std::string& mask : masks) {
    const Tensor file = sample[mask];
    Tensor& labels = sample.make(mask, mask_dtype, Shape{height, width});
    try {
      const ImageHeader found = open(file, sample.origin().epoch);
      if (found.shown_width() != header.shown_width() ||
          found.shown_height() != header.shown_height()) {
        throw DataError("must have the sides of its picture as it is shown, " +
                        sides(header.shown_height(), header.shown_width()) + ", got " +
                        sides(found.shown_height(), found.shown_width()) +
                        std::string(turned_hint(header, found)));
      }
      ImageDecoder::this_thread().decode_labels(window, {.labels = labels.raw(),
                                                         .dtype = mask_dtype,
                                                         .height = height,
                                                         .width = width,
                                                         .flip = flipped,
                                                         .colours = mask_colours});
    } catch (const DataError& error) {
      clear(labels);
      throw DataError("mask \"" + mask + "\": " + error.what());
    }
  }
}

}  // namespace headrace::inline v1
