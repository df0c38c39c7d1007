// Whether a GPU's JPEG decoder takes work off the CPU: the same pipeline, delivered to the GPU,
// with DecodeImage on either and on both.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/device_decode.h>

#include <cstdio>

using namespace headrace;
using namespace headrace::bench;

namespace {

struct Setup {
  std::shared_ptr<const ImageFolder> pictures;
  Device gpu;
  int threads = 0;
  int batch = 0;
};

std::function<double()> pipeline(const Setup& setup, const DecodeImage& decode) {
  LoaderOptions options{.prefetch = 4};
  options.runtime = Runtime({.threads = setup.threads});
  return through_loader(Pipeline::from(setup.pictures)
                            .seed(order_seed)
                            .order(passes(*setup.pictures))
                            .then(decode)
                            .batch({.size = setup.batch})
                            .to(setup.gpu),
                        options);
}

std::vector<Contender> contenders(const Setup& setup) {
  DecodeImage decode = decode_224();
  std::vector<Contender> all = {{"on the CPU", pipeline(setup, decode)}};
  decode.prescale = false;
  all.push_back({"on the CPU, full scale", pipeline(setup, decode)});
  if (!setup.gpu.is_cuda()) return all;
  decode.prescale = true;
  decode.device = setup.gpu;
  all.push_back({"on " + to_string(setup.gpu), pipeline(setup, decode)});
  for (const int percent : {75, 50, 25}) {
    decode.device_share = percent / 100.0;
    all.push_back(
        {std::to_string(percent) + " % on " + to_string(setup.gpu), pipeline(setup, decode)});
  }
  return all;
}

/// The best of those that share, beside the better of CPU and device alone.
Row shared_beside_alone(const std::vector<Rates>& rates) {
  const auto best = [&](bool shared) {
    const Rates* first = nullptr;
    for (const Rates& each : rates)
      if ((each.name.find('%') != std::string::npos) == shared &&
          (first == nullptr || each.median > first->median))
        first = &each;
    return *first;
  };
  const Rates ours = best(true);
  const Rates alone = best(false);
  return {.section = "shared beside the better of the two alone",
          .contender = ours.name,
          .unit = "pictures/s",
          .median = ours.median,
          .low = ours.low,
          .high = ours.high,
          .repeats = ours.repeats,
          .reference = alone.name,
          .ratio = ours.median / alone.median,
          .goal = at_least(1.0)};
}

Setup set_up(const Options& options, Device gpu) {
  const std::string& data = options.text("data");
  return {.pictures = std::make_shared<const ImageFolder>(
              data.empty() ? picture_folder(options.text("cache"), options.number("pictures"))
                           : std::filesystem::path(data)),
          .gpu = gpu,
          .threads = options.number("threads"),
          .batch = options.number("batch")};
}

void measure(const Options& options, Report& report) {
  const bool dry = options.is_set("dry");
  const Device gpu = dry ? Device::cpu() : Device::cuda(options.number("device"));
  if (!dry) require_device_decoder(gpu, "gpu_decode_benchmark");
  const std::string decoder = dry ? "no device" : device_decoder(gpu);
  const Setup setup = set_up(options, gpu);
  const std::vector<Contender> all = contenders(setup);
  const std::vector<Rates> rates = compare(all, options.number("repeats"));
  report.add(std::to_string(setup.pictures->size()) +
                 " pictures, random-resized crop to 224, batch " + std::to_string(setup.batch) +
                 ", " + std::to_string(setup.threads) + " workers; " + decoder,
             "pictures/s", rates, all[0].name);
  if (dry) return;
  report.add({shared_beside_alone(rates)});
  const DeviceDecodes decodes = device_decodes();
  std::printf("decoded on the device: %lld of %lld pictures that were to be\n",
              static_cast<long long>(decodes.on_device),
              static_cast<long long>(decodes.on_device + decodes.on_cpu));
}

}  // namespace

int main(int argc, char** argv) {
  Options options("gpu_decode_benchmark", "Does a GPU's JPEG decoder take work off the CPU?");
  options.add("data", "", "folder of classes of JPEG files; none: made ones of 500 x 375")
      .add("pictures", "2048", "of those that are made")
      .add("cache", "/tmp/headrace-bench", "where made pictures are kept")
      .add("threads", "16", "workers")
      .add("batch", "64", "pictures of a batch")
      .add("device", "0", "number of the GPU")
      .add("repeats", "5", "rounds in turn")
      .add_flag("dry", "the CPU's contenders alone, to see that it runs")
      .add_json();
  options.parse(argc, argv);
  Report report("gpu_decode_benchmark", options);
  if (options.is_set("dry")) report.mark_dry();
  try {
    measure(options, report);
    return 0;
  } catch (const Error& error) {
    report.missing("pictures, random-resized crop to 224", "on a GPU", error.what());
    std::fprintf(stderr, "%s\n", error.what());
    return 7;
  }
}
