// What we say of nvJPEG's interface, against its own header.
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_abi.h>

#include <cstddef>
#include <type_traits>

#include <doctest/doctest.h>
#include <nvjpeg.h>

namespace {

namespace ours = headrace::detail::nvjpeg;

/// Whether two types are passed alike: pointers as pointers, numbers and enumerations by their
/// size.
template <class A, class B>
constexpr bool alike = std::is_pointer_v<A> || std::is_pointer_v<B>
                           ? std::is_pointer_v<A>&& std::is_pointer_v<B>
                           : sizeof(A) == sizeof(B) && !std::is_class_v<A> && !std::is_class_v<B>;

template <class A, class B>
struct Same : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Same<R (*)(A...), S (*)(B...)>
    : std::bool_constant<alike<R, S> && (... && alike<A, B>)> {
};

template <auto theirs, class Ours>
constexpr bool same = Same<decltype(theirs), Ours>::value;

using F = ours::Functions;
static_assert(same<&nvjpegGetProperty, decltype(F::get_property)>);
static_assert(same<&nvjpegCreateEx, decltype(F::create)>);
static_assert(same<&nvjpegDestroy, decltype(F::destroy)>);
static_assert(same<&nvjpegJpegStateCreate, decltype(F::create_state)>);
static_assert(same<&nvjpegJpegStateDestroy, decltype(F::destroy_state)>);
static_assert(same<&nvjpegJpegStreamCreate, decltype(F::create_stream)>);
static_assert(same<&nvjpegJpegStreamDestroy, decltype(F::destroy_stream)>);
static_assert(same<&nvjpegJpegStreamParseHeader, decltype(F::parse_header)>);
static_assert(same<&nvjpegDecodeBatchedSupported, decltype(F::batched_supported)>);
static_assert(same<&nvjpegDecodeBatchedInitialize, decltype(F::initialize_batched)>);
static_assert(same<&nvjpegDecodeBatched, decltype(F::decode_batched)>);
static_assert(!same<&nvjpegDecodeBatched, decltype(F::initialize_batched)>);

static_assert(sizeof(ours::Image) == sizeof(nvjpegImage_t));
static_assert(offsetof(ours::Image, pitch) == offsetof(nvjpegImage_t, pitch));
static_assert(std::is_same_v<decltype(ours::Image::pitch), decltype(nvjpegImage_t::pitch)>);

static_assert(int(ours::Status::success) == NVJPEG_STATUS_SUCCESS);
static_assert(int(ours::Status::allocator_failure) == NVJPEG_STATUS_ALLOCATOR_FAILURE);
static_assert(int(ours::Backend::automatic) == NVJPEG_BACKEND_DEFAULT);
static_assert(int(ours::Backend::gpu) == NVJPEG_BACKEND_GPU_HYBRID);
static_assert(int(ours::Property::major) == MAJOR_VERSION);
static_assert(int(ours::Property::minor) == MINOR_VERSION);
static_assert(int(ours::Property::patch) == PATCH_LEVEL);
static_assert(int(ours::Backend::hardware) == NVJPEG_BACKEND_HARDWARE);
static_assert(int(ours::OutputFormat::interleaved_rgb) == NVJPEG_OUTPUT_RGBI);
static_assert(ours::no_pipeline == NVJPEG_FLAGS_HW_DECODE_NO_PIPELINE);
static_assert(ours::strict_bitstream == (NVJPEG_FLAGS_BITSTREAM_STRICT));
static_assert(ours::interpolated_upsampling == (NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION));

}  // namespace

TEST_CASE("nvJPEG's header and ours agree") {
  CHECK(NVJPEG_VER_MAJOR == 13);
}
