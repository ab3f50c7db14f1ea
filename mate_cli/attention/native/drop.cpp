// Dropout of features, in one pass: PyTorch needs nine, each through main memory, to hash the words of dropout.py.
#include "numbers.h"

namespace {

// to = from times `factor`, or times 0 (which keeps NaN) where a token loses a feature.
template <class Stored, class Number>
void drop(const Stored* from, const uint32_t* token_words, const uint32_t* feature_words, int64_t tokens,
          int64_t features, int32_t drop_below, Number factor, int threads, Stored* to) {
#pragma omp parallel for num_threads(threads) if (threads > 1)
  for (int64_t t = 0; t < tokens; t++)
    for (int64_t f = 0; f < features; f++) {
      uint32_t hash = (token_words[t] ^ feature_words[f]) * 0x7feb352du;
      hash = (hash ^ hash >> 15) * 0x846ca68bu;
      const Number kept = int32_t(hash) < drop_below ? Number(0) : factor;
      narrow(widened(from[t * features + f]) * kept, to[t * features + f]);
    }
}

}  // namespace

extern "C" {

void drop_float(const float* from, const uint32_t* token_words, const uint32_t* feature_words, int64_t tokens,
                int64_t features, int32_t drop_below, double factor, int32_t threads, float* to) {
  drop(from, token_words, feature_words, tokens, features, drop_below, float(factor), threads, to);
}

void drop_double(const double* from, const uint32_t* token_words, const uint32_t* feature_words, int64_t tokens,
                 int64_t features, int32_t drop_below, double factor, int32_t threads, double* to) {
  drop(from, token_words, feature_words, tokens, features, drop_below, factor, threads, to);
}

void drop_BFloat16(const BFloat16* from, const uint32_t* token_words, const uint32_t* feature_words, int64_t tokens,
                   int64_t features, int32_t drop_below, double factor, int32_t threads, BFloat16* to) {
  drop(from, token_words, feature_words, tokens, features, drop_below, float(factor), threads, to);
}

}  // extern "C"
