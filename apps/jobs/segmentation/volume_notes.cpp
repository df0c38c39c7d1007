#include <headrace/apps/jobs/segmentation/volume_notes.h>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using Scheme = VolumeNormalization::Scheme;

const char* name_of(Scheme scheme) {
  switch (scheme) {
    case Scheme::none:
      return "none";
    case Scheme::zscore:
      return "zscore";
    case Scheme::zscore_nonzero:
      return "zscore_nonzero";
    case Scheme::ct:
      return "ct";
    case Scheme::zero_to_one:
      return "zero_to_one";
    case Scheme::by_255:
      return "by_255";
  }
  return "";
}

nlohmann::json json_of(const VolumeNormalization& channel) {
  nlohmann::json made{{"scheme", name_of(channel.scheme)}};
  if (channel.scheme == Scheme::ct)
    made.update({{"low", channel.low},
                 {"high", channel.high},
                 {"mean", channel.mean},
                 {"deviation", channel.deviation}});
  return made;
}

}  // namespace

std::string preparation_note(const VolumePreparation& preparation) {
  nlohmann::json channels = nlohmann::json::array();
  for (const VolumeNormalization& channel : preparation.channels)
    channels.push_back(json_of(channel));
  return nlohmann::json{
      {"spacing", preparation.spacing}, {"crop", preparation.crop}, {"channels", channels}}
      .dump();
}

}  // namespace headrace::inline v1::app
