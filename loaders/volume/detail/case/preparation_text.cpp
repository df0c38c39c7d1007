#include <headrace/loaders/volume/volume_preparation.h>

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace headrace::inline v1 {

const char* name_of(VolumeNormalization::Scheme scheme) noexcept {
  constexpr std::array names{"none", "zscore", "zscore_nonzero", "ct", "zero_to_one", "by_255"};
  return names[static_cast<std::size_t>(scheme)];
}

std::string to_string(const VolumePreparation& preparation) {
  nlohmann::json channels = nlohmann::json::array();
  for (const VolumeNormalization& channel : preparation.channels) {
    nlohmann::json one{{"scheme", name_of(channel.scheme)}};
    if (channel.scheme == VolumeNormalization::Scheme::ct)
      one.update({{"low", channel.low},
                  {"high", channel.high},
                  {"mean", channel.mean},
                  {"deviation", channel.deviation}});
    channels.push_back(std::move(one));
  }
  return nlohmann::json{{"spacing", preparation.spacing},
                        {"crop", preparation.crop},
                        {"channels", std::move(channels)}}
      .dump();
}

}  // namespace headrace::inline v1
