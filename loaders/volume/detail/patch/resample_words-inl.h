// Pairs of voxels at any places. For resample_kernels.cpp alone, once for every vector target.
#include <headrace/loaders/volume/internal/resample_task.h>

#include <cstdint>
#include <cstring>

#if defined(HEADRACE_RESAMPLE_WORDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_RESAMPLE_WORDS_INL_H
#undef HEADRACE_RESAMPLE_WORDS_INL_H
#else
#define HEADRACE_RESAMPLE_WORDS_INL_H
#endif

#include <headrace/loaders/volume/detail/patch/resample_row-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<DF>;

// Of words_at(): a voxel of 8 or 16 bits in the low ones of each lane, the one beside it along x
// above it, anything above both.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

/// Lane by lane: gathers of AMD's processors take longer.
struct Places {
  HWY_ALIGN std::int32_t lanes[hn::MaxLanes(DI())];
  explicit HWY_INLINE Places(VI places) { hn::Store(places, DI(), lanes); }
};

template <class Pair, class T>
HWY_INLINE Pair pair_at(const T* voxel) {
  Pair both;
  std::memcpy(&both, voxel, sizeof both);
  return both;
}

HWY_INLINE __m128i eight_words(const std::uint8_t* box, const std::int32_t* at) {
  const auto word = [&](int lane) { return pair_at<std::int16_t>(box + at[lane]); };
  __m128i words = _mm_cvtsi32_si128(word(0));
  words = _mm_insert_epi16(words, word(1), 1);
  words = _mm_insert_epi16(words, word(2), 2);
  words = _mm_insert_epi16(words, word(3), 3);
  words = _mm_insert_epi16(words, word(4), 4);
  words = _mm_insert_epi16(words, word(5), 5);
  words = _mm_insert_epi16(words, word(6), 6);
  return _mm_insert_epi16(words, word(7), 7);
}

template <class T>
HWY_INLINE __m128i four_words(const T* box, const std::int32_t* at) {
  const auto word = [&](int lane) { return pair_at<std::int32_t>(box + at[lane]); };
  __m128i words = _mm_cvtsi32_si128(word(0));
  words = _mm_insert_epi32(words, word(1), 1);
  words = _mm_insert_epi32(words, word(2), 2);
  return _mm_insert_epi32(words, word(3), 3);
}

template <class T>
HWY_INLINE __m256i eight_lanes(const T* box, const std::int32_t* at) {
  if constexpr (sizeof(T) == 1)
    return _mm256_cvtepu16_epi32(eight_words(box, at));
  else
    return _mm256_set_m128i(four_words(box, at + 4), four_words(box, at));
}

template <class T>
HWY_INLINE VI words_at(const T* box, const Places& places) {
#if HWY_TARGET <= HWY_AVX3
  return VI{_mm512_inserti64x4(_mm512_castsi256_si512(eight_lanes(box, places.lanes)),
                               eight_lanes(box, places.lanes + 8), 1)};
#else
  return VI{eight_lanes(box, places.lanes)};
#endif
}

#else

struct Places {
  VI lanes;
  explicit HWY_INLINE Places(VI places) : lanes(places) {}
};

template <class T>
HWY_INLINE VI words_at(const T* box, const Places& places) {
  const VI bytes = sizeof(T) == 2 ? hn::ShiftLeft<1>(places.lanes) : places.lanes;
  return hn::GatherOffset(DI(), reinterpret_cast<const std::int32_t*>(box), bytes);
}

#endif

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
