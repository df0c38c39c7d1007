// What a manifest of 10^4 to 10^6 images costs: listing it, opening it again from the cache, the
// time to the first batch, memory, and each sample. Every size is measured in a process of its own.
//
//   listing_benchmark FOLDER [LARGEST]
//
// FOLDER gets the manifests and as many names as the largest has, hard links to a few small
// photographs.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// jpeglib.h needs FILE and size_t before it.
#include <jpeglib.h>

#include <headrace/benchmarks/harness/harness.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/tests/loaders/image_files.h>

using namespace headrace;
using namespace headrace::bench;
namespace fs = std::filesystem;

namespace {

constexpr int pictures = 64;
constexpr std::int64_t names_per_folder = 1000;
constexpr std::int64_t measured = 20'000;

std::string name_of(std::int64_t i) {
  return std::to_string(i / names_per_folder) + "/" + std::to_string(i) + ".jpg";
}

void make_names(const fs::path& root, std::int64_t first, std::int64_t last) {
  fs::create_directories(root / "pictures");
  for (int i = 0; i < pictures; ++i) {
    const fs::path file = root / "pictures" / (std::to_string(i) + ".jpg");
    if (fs::exists(file)) continue;
    const test::Bytes bytes = test::encode_jpeg({.width = 96, .height = 72},
                                                test::picture(96, 72, 3, static_cast<unsigned>(i)));
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  for (std::int64_t i = first; i < last; ++i) {
    const fs::path name = root / name_of(i);
    if (i % names_per_folder == 0) fs::create_directories(name.parent_path());
    if (::link((root / "pictures" / (std::to_string(i % pictures) + ".jpg")).c_str(),
               name.c_str()) != 0 &&
        errno != EEXIST) {
      std::perror(name.c_str());
      std::exit(1);
    }
  }
}

fs::path make_manifest(const fs::path& root, std::int64_t samples) {
  const fs::path file = root / (std::to_string(samples) + ".csv");
  std::ofstream out(file);
  out << "image,label,weight,group\n";
  for (std::int64_t i = 0; i < samples; ++i)
    out << name_of(i) << ",class " << i % 1000 << ",1.5,patient " << i / 10 << '\n';
  return file;
}

double status_mib(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == key && status >> kib) return kib / 1024;
  }
  return 0;
}

/// Microseconds of wall and of CPU a sample, over the first samples of an epoch.
struct Cost {
  double wall = 0;
  double cpu = 0;
};

Cost cost_of(Loader& loader, std::int64_t epoch, std::int64_t samples) {
  const double start = seconds();
  const double cpu = cpu_seconds();
  std::int64_t seen = 0;
  for (Batch& batch : loader.epoch(epoch)) {
    seen += batch.size();
    if (seen >= samples) break;
  }
  return {1e6 * (seconds() - start) / static_cast<double>(seen),
          1e6 * (cpu_seconds() - cpu) / static_cast<double>(seen)};
}

void measure_listing(const fs::path& manifest, const fs::path& cache, std::int64_t samples) {
  fs::remove(cache);
  const double start = seconds();
  const ImageManifest listed(manifest, {.listing = {.cache = cache}});
  std::printf("%9lld %10.2f", static_cast<long long>(samples), seconds() - start);
  std::fflush(stdout);
}

void measure_cached(const fs::path& manifest, const fs::path& cache, std::int64_t samples) {
  const double start = seconds();
  const auto source = std::make_shared<const ImageManifest>(
      manifest, ImageManifestOptions{.listing = {.cache = cache}});
  const double opened = seconds() - start;
  Loader loader = Pipeline::from(source)
                      .order(Shuffled{.seed = 1})
                      .then(DecodeImage{.crop = RandomResizedCrop{.height = 64, .width = 64}})
                      .batch({.size = 64})
                      .build({.runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(0)) {
    (void)batch;
    break;
  }
  const double first_batch = seconds() - start;
  cost_of(loader, 1, measured / 4);
  const std::int64_t most = std::min(samples, measured);
  const Cost decoded = cost_of(loader, 2, most);
  const double resident = status_mib("VmHWM:");
  Loader reader = Pipeline::from(source)
                      .order(Shuffled{.seed = 1})
                      .then([](Sample& sample) { sample.remove("image"); })
                      .then([](Sample& sample) { sample.make("image", DType::uint8, Shape{0}); })
                      .batch({.size = 64})
                      .build({.runtime = Runtime({.threads = 2})});
  cost_of(reader, 1, measured / 4);
  const Cost read = cost_of(reader, 2, most);
  std::printf(" %10.0f %12.0f %10.0f %10.0f %8.1f %8.1f %8.1f %8.1f\n", 1e3 * opened,
              1e3 * first_batch, resident, static_cast<double>(source->resident_bytes()) / 1048576,
              read.wall, read.cpu, decoded.wall, decoded.cpu);
  std::fflush(stdout);
}

/// Does it in a process of its own, so that its memory is counted alone.
template <class Work>
void apart(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: listing_benchmark FOLDER [LARGEST]\n", stderr);
    return 2;
  }
  const fs::path root = argv[1];
  const std::int64_t largest = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  std::printf("%s\n\n", machine_line().c_str());
  std::printf("%9s %10s %10s %12s %10s %10s %17s %17s\n", "samples", "listing", "cached",
              "first batch", "peak", "listing", "read, us/sample", "decode, us/sample");
  std::printf("%9s %10s %10s %12s %10s %10s %8s %8s %8s %8s\n", "", "s", "ms", "ms", "MiB", "MiB",
              "wall", "CPU", "wall", "CPU");
  std::fflush(stdout);
  std::int64_t made = 0;
  for (std::int64_t samples = 10'000; samples <= largest; samples *= 10) {
    make_names(root, made, samples);
    made = samples;
    const fs::path manifest = fs::absolute(make_manifest(root, samples));
    const fs::path cache = root / "listing";
    apart([&] { measure_listing(manifest, cache, samples); });
    apart([&] { measure_cached(manifest, cache, samples); });
  }
  return 0;
}
