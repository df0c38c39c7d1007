// NVTX is headers alone: it opens a profiler's library where one asks for it, and else does
// nothing.
#include <headrace/engine/stats/internal/trace_range.h>

#include <nvtx3/nvToolsExt.h>

namespace headrace::inline v1::detail {

namespace {

nvtxDomainHandle_t domain() noexcept {
  static nvtxDomainHandle_t ours = nvtxDomainCreateA("headrace");
  return ours;
}

}  // namespace

TraceRange::TraceRange(const std::string& name) noexcept {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}
TraceRange::~TraceRange() {
  nvtxDomainRangePop(domain());
}

}  // namespace headrace::inline v1::detail
