#include <headrace/tests/apps/leak/data.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace headrace::test {
namespace {

constexpr std::uint32_t rate = 8000;

template <class T>
void put(std::ofstream& file, T value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A WAV file of one channel.
void write_wave(const std::filesystem::path& path, const std::vector<std::int16_t>& samples) {
  std::ofstream file(path, std::ios::binary);
  const auto bytes = static_cast<std::uint32_t>(samples.size() * sizeof(std::int16_t));
  file << "RIFF";
  put<std::uint32_t>(file, 36 + bytes);
  file << "WAVEfmt ";
  put<std::uint32_t>(file, 16);
  put<std::uint16_t>(file, 1);  // PCM
  put<std::uint16_t>(file, 1);
  put<std::uint32_t>(file, rate);
  put<std::uint32_t>(file, 2 * rate);
  put<std::uint16_t>(file, 2);
  put<std::uint16_t>(file, 16);
  file << "data";
  put<std::uint32_t>(file, bytes);
  file.write(reinterpret_cast<const char*>(samples.data()), bytes);
}

}  // namespace

void write_leak_sounds(const std::filesystem::path& folder) {
  std::uint32_t state = 1;
  for (int voice = 0; voice < 3; ++voice) {
    const std::filesystem::path own = folder / ("voice-" + std::to_string(voice));
    std::filesystem::create_directories(own);
    for (int file = 0; file < 40; ++file) {
      std::vector<std::int16_t> samples;
      for (std::uint32_t n = 0; n < 4 * rate; ++n) {
        state = state * 1664525U + 1013904223U;
        const double tone = std::sin(0.05 * (1 + file % 7) * n) * std::sin(0.0007 * n);
        const double hiss = static_cast<double>(state >> 16) / 65536.0 - 0.5;
        samples.push_back(static_cast<std::int16_t>(9000.0 * tone + 900.0 * hiss));
      }
      write_wave(own / (std::to_string(file) + ".wav"), samples);
    }
  }
}

}  // namespace headrace::test
