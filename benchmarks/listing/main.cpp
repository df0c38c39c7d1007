// What a manifest of 10^4 to 10^6 images costs: listing it, opening it again from the cache, the
// time to the first batch, memory, and each sample. Every size is measured in a process of its own.
//
// FOLDER gets the manifests and as many names as the largest has, hard links to a few small
// photographs.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// jpeglib.h needs FILE and size_t before it.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/tests/loaders/image_files.h>

#include <jpeglib.h>

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

/// What was measured, in memory that a child shares with its parent.
struct Figures {
  double listing_s = 0;
  double opened_s = 0;  ///< with the listing cached
  double first_batch_s = 0;
  double peak_mib = 0;
  double listing_mib = 0;
  Cost read;
  Cost decoded;
};

void measure_listing(const fs::path& manifest, const fs::path& cache, Figures& figures) {
  fs::remove(cache);
  const double start = seconds();
  const ImageManifest listed(manifest, {.listing = {.cache = cache}});
  figures.listing_s = seconds() - start;
}

void measure_cached(const fs::path& manifest, const fs::path& cache, std::int64_t samples,
                    Figures& figures) {
  const double start = seconds();
  const auto source = std::make_shared<const ImageManifest>(
      manifest, ImageManifestOptions{.listing = {.cache = cache}});
  figures.opened_s = seconds() - start;
  Loader loader = Pipeline::from(source)
                      .order(Shuffled{.seed = 1})
                      .then(DecodeImage{.crop = RandomResizedCrop{.height = 64, .width = 64}})
                      .batch({.size = 64})
                      .build({.runtime = Runtime({.threads = 2})});
  for (Batch& batch : loader.epoch(0)) {
    (void)batch;
    break;
  }
  figures.first_batch_s = seconds() - start;
  cost_of(loader, 1, measured / 4);
  const std::int64_t most = std::min(samples, measured);
  figures.decoded = cost_of(loader, 2, most);
  figures.peak_mib = status_mib("VmHWM:");
  Loader reader = Pipeline::from(source)
                      .order(Shuffled{.seed = 1})
                      .then([](Sample& sample) { sample.remove("image"); })
                      .then([](Sample& sample) { sample.make("image", DType::uint8, Shape{0}); })
                      .batch({.size = 64})
                      .build({.runtime = Runtime({.threads = 2})});
  cost_of(reader, 1, measured / 4);
  figures.read = cost_of(reader, 2, most);
  figures.listing_mib = static_cast<double>(source->resident_bytes()) / 1048576;
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

void add(Report& report, std::int64_t samples, const Figures& figures) {
  const std::string title = "a manifest of " + std::to_string(samples) + " images";
  const auto row = [&](const char* what, const char* unit, double value) {
    return Row{.section = title,
               .contender = what,
               .unit = unit,
               .median = value,
               .low = value,
               .high = value,
               .repeats = 1};
  };
  report.add({row("listing it", "s", figures.listing_s),
              row("opening it again, cached", "s", figures.opened_s),
              row("to the first batch, cached", "s", figures.first_batch_s),
              row("peak memory", "MiB", figures.peak_mib),
              row("the listing's memory", "MiB", figures.listing_mib),
              row("reading, a sample", "us", figures.read.wall),
              row("reading, a sample, CPU", "us", figures.read.cpu),
              row("decoding, a sample", "us", figures.decoded.wall),
              row("decoding, a sample, CPU", "us", figures.decoded.cpu)});
}

}  // namespace

int main(int argc, char** argv) {
  Options options("listing_benchmark", "What does a manifest of 10^4 to 10^6 images cost?");
  options.add("folder", "", "gets the manifests and hard links to a few small photographs")
      .add("largest", "1000000", "images")
      .add_json()
      .take_words({"folder", "largest"});
  options.parse(argc, argv);
  if (!options.is_set("folder")) {
    std::fputs("usage: listing_benchmark FOLDER [LARGEST]\n", stderr);
    return 2;
  }
  const fs::path root = options.text("folder");
  Report report("listing_benchmark", options);
  void* shared =
      ::mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 4;
  std::int64_t made = 0;
  for (std::int64_t samples = 10'000; samples <= options.number("largest"); samples *= 10) {
    make_names(root, made, samples);
    made = samples;
    const fs::path manifest = fs::absolute(make_manifest(root, samples));
    const fs::path cache = root / "listing";
    Figures& figures = *new (shared) Figures();
    apart([&] { measure_listing(manifest, cache, figures); });
    apart([&] { measure_cached(manifest, cache, samples, figures); });
    add(report, samples, figures);
  }
  return 0;
}
