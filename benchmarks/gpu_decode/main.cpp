// Whether a GPU's JPEG decoder takes work off the CPU: the same pipeline with DecodeImage on
// either.
#include <cstdio>

#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/nvjpeg_decoder.h>

using namespace headrace;
using namespace headrace::bench;

namespace {

std::function<double()> pipeline(const std::shared_ptr<const ImageFolder>& pictures, Device device,
                                 bool prescale, int threads) {
  DecodeImage decode = decode_224();
  decode.device = device;
  decode.prescale = prescale;
  LoaderOptions options{.prefetch = 4};
  options.runtime = Runtime({.threads = threads});
  return through_loader(Pipeline::from(pictures)
                            .seed(order_seed)
                            .order(passes(*pictures))
                            .then(decode)
                            .batch({.size = 64}),
                        options);
}

int measure(const Options& options, Report& report) {
  const std::string& data = options.text("data");
  const auto pictures = std::make_shared<const ImageFolder>(
      data.empty() ? picture_folder(options.text("cache"), 2048) : std::filesystem::path(data));
  const int threads = options.number("threads");
  const Device gpu = Device::cuda(options.number("device"));
  NvjpegDecoder::require(gpu, "gpu_decode_benchmark");
  const std::vector<Contender> contenders = {
      {"on the CPU", pipeline(pictures, Device::cpu(), true, threads)},
      {"on the CPU, full scale", pipeline(pictures, Device::cpu(), false, threads)},
      {"on " + to_string(gpu), pipeline(pictures, gpu, false, threads)}};
  const std::string title = std::to_string(pictures->size()) +
                            " pictures, random-resized crop to 224, " + std::to_string(threads) +
                            " workers";
  report.add(title, "pictures/s", compare(contenders, options.number("repeats")),
             contenders[0].name);
  const DeviceDecodes decodes = device_decodes();
  std::printf("decoded on the device: %lld of %lld pictures that were to be\n",
              static_cast<long long>(decodes.on_device),
              static_cast<long long>(decodes.on_device + decodes.on_cpu));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options("gpu_decode_benchmark", "Does a GPU's JPEG decoder take work off the CPU?");
  options.add("data", "", "folder of classes of JPEG files; none: 2048 made ones of 500 x 375")
      .add("cache", "/tmp/headrace-bench", "where made pictures are kept")
      .add("threads", "16", "workers")
      .add("device", "0", "number of the GPU")
      .add("repeats", "5", "rounds in turn")
      .add_json();
  options.parse(argc, argv);
  Report report("gpu_decode_benchmark", options);
  try {
    return measure(options, report);
  } catch (const Error& error) {
    report.missing("pictures, random-resized crop to 224", "on a GPU", error.what());
    std::fprintf(stderr, "%s\n", error.what());
    return 7;
  }
}
