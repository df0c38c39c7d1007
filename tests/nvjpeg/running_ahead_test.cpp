// Hosts that are far ahead of their device: memory that it has yet to use stays, and is bounded.
#include "begin.h"
#include "decoding.h"

#include <memory>
#include <string>
#include <vector>

namespace headrace::test {
namespace {

TEST_CASE("A batch on loan is whole although its loader went before the device came to it") {
  std::vector<Bytes> files;
  files.reserve(8);
  for (unsigned i = 0; i < 8; ++i)
    files.push_back(photograph(40, 30, 2, 2, i));
  const DecodeImage op{.crop = ResizeTo{12, 10}, .prescale = false, .device = gpu};
  std::string wanted;
  for (const Pixels& pixels : decoded(op, Device::cpu(), files))
    wanted.append(pixels.begin(), pixels.end());
  begin({.delay_us = 2000}, {.devices = 1, .copy_delay_us = 0, .copy_least_us = 5000});
  device::TrainerStream stream;
  Batch batch;
  {
    Loader loader = Pipeline::from(std::make_shared<const Files>(files))
                        .then(op)
                        .batch({.size = 8})
                        .to(gpu)
                        .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
    const Epoch epoch = loader.epoch(0, stream);
    batch = loader.next().batch;
  }
  CHECK((bytes_from(batch["image"], stream) == wanted));
  batch = {};
  stream.finish();
}

TEST_CASE("However far it runs ahead of the device, a loader keeps few of nvJPEG's states") {
  const Bytes file = encode_jpeg({.width = 2200, .height = 2000},
                                 Pixels(std::size_t{3} * 2200 * 2000, std::uint8_t{90}));
  const DecodeImage op{.crop = ResizeTo{100, 110}, .prescale = false, .device = gpu};
  begin({.delay_us = 2000}, {.devices = 1, .copy_delay_us = 0});
  Loader loader = Pipeline::from(std::make_shared<const Files>(std::vector<Bytes>(24, file)))
                      .then(op)
                      .batch({.size = 8})  // whose pictures fit the scratch memory one by one
                      .to(gpu)
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  DeviceDecodes decodes = decodes_in([&] { read_epoch(loader, gpu, 0, {"image"}); });
  CHECK(decodes.on_device == 24);
  CHECK(nvjpeg::calls().batches == 24);
  CHECK(nvjpeg::calls().overlaps == 0);
  CHECK(nvjpeg::calls().live_states <= 8);
}

}  // namespace
}  // namespace headrace::test
