// Exact attention of a packed batch on a CPU, forward and backward: heads that see rows, columns, both, whole
// documents, or a window and global tokens.
//
// A line is a row, a column, or a whole document if the head sees all. The tokens of a line attend to their line and to
// the question of their document; the question attends to the whole document. Heads that see rows and columns at once
// have the whole document as their line, in which the pairs of other cells are closed. Heads with a window have it too,
// and their global tokens are the "question". A line is far too short to fill a library's matrix product, so the
// products are written out here:
//
// - A tile is up to QUERIES queries times KEYS keys, stored [key][query]. The lanes of a vector are queries, so the
//   softmax needs no sum across lanes, and a short line wastes lanes (up to a multiple of LANES) but never keys.
// - Keys and values are read where the projection left them. Nothing is gathered into blocks or padded to a length.
// - Forward is an online softmax over tiles; it keeps the logarithm of each query's sum. Backward computes the weights
//   again from that. Scores are in units of log 2, for exp2 costs less than exp: queries are multiplied by log2(e).
// - A task is a chunk of lines (or a question) and one head. No two tasks write to the same place: what chunks add to
//   the gradient of their question goes to a place of its own, and these are summed in a fixed order. So the result
//   has the same bits for any number of threads.
// - Relative positions (table_etc.py) are some more keys: their scores are added to those of the pairs by label.
// - Dropout keeps no mask: whether a pair is dropped follows from a word of its query and one of its key (dropout.py).
//
// Built by build.py with -DSTORAGE=float, double or BFloat16 and -DHEAD_DIM=N. Uses the vector extensions of GCC and
// Clang instead of one processor's intrinsics; needs no header but numbers.h and the standard library's.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "numbers.h"

// ---- What Python hands over: the same fields, in the same order, as in plan.py and attend.py ----------------------

struct Document {
  int32_t begin, table, end;   // places in Group::order: the question is [begin, table), the table [table, end)
  int32_t first_sum, chunks;  // its chunks have a row of sums for each token of the question, from first_sum on
};

struct Line {  // places in Group::order
  int32_t begin, end;
};

struct Chunk {  // some lines of a document; the `part`-th of its document
  int32_t document, first_line, end_line, part;
};

struct Cell {
  int32_t row, column;  // or the global tokens of the row and the column; a global token has itself as both
};

struct Group {  // heads that see the same lines
  const int32_t* order;  // tokens by document; in a document the question first, then line by line
  const Cell* cells;     // of each token, if it matters which tokens of a line share a row or a column; else null
  const Document* documents;
  const Line* lines;
  const Chunk* chunks;
  int32_t num_documents, num_chunks, num_sums, heads;
  int32_t radius;  // tokens of a line see each other up to this distance; 0: all do, or all of a row or column
};

struct Batch {
  const Group* groups;
  const int32_t* padding;                   // tokens of no document
  const uint32_t *query_words, *key_words;  // [heads, tokens]; null: no dropout
  const void* relative;                     // [LABELS, hidden], Stored; null: no relative positions
  int64_t tokens;
  int32_t num_groups, num_padding, heads, head_dim, threads;
  int32_t drop_below;  // a pair whose hash is lower is dropped
  double kept;         // share of pairs that dropout keeps
};

namespace {

// ---- Numbers and vectors --------------------------------------------------------------------------------------------

using Stored = STORAGE;                                                            // in the tensors of PyTorch
using Number = std::conditional_t<std::is_same_v<Stored, double>, double, float>;  // in computations
constexpr int WIDTH = HEAD_DIM;  // a multiple of 16; narrower heads are filled up with zeros

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64, REGISTERS = 32;
constexpr const char* INSTRUCTIONS = "AVX-512";
#elif defined(__AVX2__)
constexpr int VECTOR_BYTES = 32, REGISTERS = 16;
constexpr const char* INSTRUCTIONS = "AVX2";
#elif defined(__aarch64__)
constexpr int VECTOR_BYTES = 16, REGISTERS = 32;
constexpr const char* INSTRUCTIONS = "NEON";
#else
constexpr int VECTOR_BYTES = 16, REGISTERS = 16;
constexpr const char* INSTRUCTIONS = "128-bit vectors";
#endif

constexpr int LANES = VECTOR_BYTES / sizeof(Number);
constexpr int ROWS = REGISTERS == 32 ? 12 : 6;  // times 2 vectors are the sums that a product keeps in registers
constexpr int QUERIES = 48;                     // of a block
constexpr int KEYS = 64;                        // of a tile
// Relative positions, as in table_etc.py: an offset, clipped; a global token of the own row or column; another one.
constexpr int FARTHEST = 12, MINE = 2 * FARTHEST + 1, ANOTHER = MINE + 1, LABELS = ANOTHER + 1;
static_assert(WIDTH % 16 == 0 && WIDTH % LANES == 0 && QUERIES % LANES == 0 && QUERIES % 4 == 0);

// Keys and values of lines this long are copied: their rows lie a power of two or so apart in memory, share few sets
// of the caches, and would evict each other before the next block of queries reads them again.
constexpr int COPY_FROM = 64;

typedef Number Vector __attribute__((vector_size(VECTOR_BYTES)));
typedef Number Quad __attribute__((vector_size(4 * sizeof(Number))));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef int32_t SignedWords __attribute__((vector_size(4 * LANES)));
using Mask = decltype(Vector{} < Vector{});

template <class V = Vector, class T>
inline V load(const T* from) {
  V vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class V, class T>
inline void store(T* to, V vector) {
  std::memcpy(to, &vector, sizeof vector);
}

// 2^x for x <= 0, with a relative error of 1e-7, in 32 bits; NaN stays NaN. What is below 2^-60 becomes 2^-60, not 0:
// too small to change a sum that is at least 1, and large enough for its products to be normal numbers, for others take
// many times as long.
template <class V>
inline V exp2_of(V x) {
  if constexpr (std::is_same_v<Number, double>) {
    for (int i = 0; i < LANES; i++) x[i] = std::exp2(x[i]);
    return x;
  } else {
    const V lowest = V{} - 60.0f;
    x = x < lowest ? lowest : x;
    // Adding 1.5 * 2^23 leaves no bits for the fraction: the low bits of the sum are x rounded to an integer.
    const V magic = V{} + 12582912.0f, shifted = x + magic, fraction = x - (shifted - magic);
    // Minimax polynomial of 2^fraction on [-0.5, 0.5]; its relative error is 2e-9.
    V power = V{} + 1.5345812e-4f;
    for (const float coefficient : {1.3399931e-3f, 9.6184890e-3f, 5.5503288e-2f, 2.4022647e-1f, 6.9314721e-1f, 1.0f})
      power = power * fraction + coefficient;
    Mask exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    exponent = (exponent << 23) + 0x3f800000;
    std::memcpy(&x, &exponent, sizeof x);
    return power * x;
  }
}

// One head's columns of a matrix with a row for each token.
template <class T>
struct Columns {
  T* first;
  int64_t stride;
  T* operator[](int32_t token) const { return first + token * stride; }
};

// Rows of WIDTH numbers, one after another.
template <class T>
struct Packed {
  T* first;
  T* operator[](int row) const { return first + int64_t(row) * WIDTH; }
};

inline void read_row(const Stored* from, int head_dim, Number factor, Number* to) {
  if (head_dim == WIDTH)  // a constant number of turns becomes vector code
    for (int e = 0; e < WIDTH; e++) to[e] = factor * widened(from[e]);
  else
    for (int e = 0; e < WIDTH; e++) to[e] = e < head_dim ? factor * widened(from[e]) : Number(0);
}

inline void write_row(const Number* from, int head_dim, Number factor, Stored* to) {
  for (int e = 0; e < head_dim; e++) narrow(factor * from[e], to[e]);
}

// ---- Products of tiles ------------------------------------------------------------------------------------------

// Call body with n, at most MOST, as a compile-time constant.
template <int MOST, class Body>
inline void with_constant(int n, Body body) {
  if constexpr (MOST > 0) {
    if (n == MOST)
      body(std::integral_constant<int, MOST>{});
    else
      with_constant<MOST - 1>(n, body);
  }
}

// Call body(first, R) for runs of R = ROWS of n rows, and for the rest. R is a compile-time constant: the sums of
// R rows stay in registers.
template <class Body>
inline void by_rows(int n, Body body) {
  int first = 0;
  for (; first + ROWS <= n; first += ROWS) body(first, std::integral_constant<int, ROWS>{});
  with_constant<ROWS - 1>(n - first, [&](auto rest) { body(first, rest); });
}

// to[r][q] = rows[r] . column q of `across`, for R rows and VECTORS vectors of queries.
template <int R, int VECTORS>
inline void multiply_rows(const Number* const* rows, const Number* across, Number* to) {
  Vector sum[R][VECTORS] = {};
  for (int e = 0; e < WIDTH; e++) {
    Vector x[VECTORS];
    for (int v = 0; v < VECTORS; v++) x[v] = load(across + e * QUERIES + v * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
      for (int v = 0; v < VECTORS; v++) sum[r][v] += rows[r][e] * x[v];
  }
  for (int r = 0; r < R; r++)
    for (int v = 0; v < VECTORS; v++) store(to + r * QUERIES + v * LANES, sum[r][v]);
}

// The tile of products of n rows (keys or values) and the columns of `across` (queries), [WIDTH][QUERIES].
inline void multiply(int n, int lanes, const Number* const* rows, const Number* across, Number* tile) {
  int q = 0;
  for (; q + 2 * LANES <= lanes; q += 2 * LANES)
    by_rows(n, [&](int first, auto r) { multiply_rows<r, 2>(rows + first, across + q, tile + first * QUERIES + q); });
  if (q < lanes)
    by_rows(n, [&](int first, auto r) { multiply_rows<r, 1>(rows + first, across + q, tile + first * QUERIES + q); });
}

// to[r] (+)= sum over i < n of weights[r * ROW_STRIDE + i * STRIDE] * rows[i], for R rows `to`.
template <int R, int ROW_STRIDE, int STRIDE, class Rows, class To>
inline void add_rows(int n, const Number* weights, Rows rows, To to, int first, bool overwrite) {
  constexpr int VECTORS = WIDTH / LANES % 2 ? 1 : 2;
  for (int e = 0; e < WIDTH; e += VECTORS * LANES) {
    Vector sum[R][VECTORS] = {};
    for (int i = 0; i < n; i++) {
      Vector x[VECTORS];
      for (int v = 0; v < VECTORS; v++) x[v] = load(rows[i] + e + v * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) sum[r][v] += weights[r * ROW_STRIDE + i * STRIDE] * x[v];
    }
    for (int r = 0; r < R; r++)
      for (int v = 0; v < VECTORS; v++) {
        Number* place = to[first + r] + e + v * LANES;
        store(place, overwrite ? sum[r][v] : load(place) + sum[r][v]);
      }
  }
}

// queries[q] (+)= sum over keys of tile[key][q] * keys[key].
inline void add_keys(int queries, int keys, const Number* tile, const Number* const* rows, Number* to, bool overwrite) {
  by_rows(queries, [&](int first, auto r) {
    add_rows<r, 1, QUERIES>(keys, tile + first, rows, Packed<Number>{to}, first, overwrite);
  });
}

// keys[key] (+)= sum over queries of tile[key][q] * queries[q].
inline void add_queries(int queries, int keys, const Number* tile, const Number* rows, Number* const* to,
                        bool overwrite) {
  by_rows(keys, [&](int first, auto r) {
    add_rows<r, QUERIES, 1>(queries, tile + first * QUERIES, Packed<const Number>{rows}, to, first, overwrite);
  });
}

// The two halves of a and b, element by element in turn.
#if defined(__clang__) || __GNUC__ >= 12
inline Quad interleave_low(Quad a, Quad b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline Quad interleave_high(Quad a, Quad b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#else
using Places = decltype(Quad{} < Quad{});
inline Quad interleave_low(Quad a, Quad b) { return __builtin_shuffle(a, b, Places{0, 4, 1, 5}); }
inline Quad interleave_high(Quad a, Quad b) { return __builtin_shuffle(a, b, Places{2, 6, 3, 7}); }
#endif

inline void interleave(const Quad* from, Quad* to) {
  for (int i = 0; i < 2; i++) {
    to[2 * i] = interleave_low(from[i], from[i + 2]);
    to[2 * i + 1] = interleave_high(from[i], from[i + 2]);
  }
}

// across[e][q] = rows[q][e] for q < count, 0 up to `lanes`; squares of 4 x 4, by interleaving their rows twice.
inline void transpose(Number* rows, int count, int lanes, Number* across) {
  const int end = (lanes + 3) / 4 * 4;
  std::fill(rows + count * WIDTH, rows + end * WIDTH, Number(0));
  for (int q = 0; q < end; q += 4)
    for (int e = 0; e < WIDTH; e += 4) {
      Quad a[4], b[4];
      for (int i = 0; i < 4; i++) a[i] = load<Quad>(rows + (q + i) * WIDTH + e);
      interleave(a, b);
      interleave(b, a);
      for (int i = 0; i < 4; i++) store(across + (e + i) * QUERIES + q, a[i]);
    }
}

inline int lanes_for(int queries) { return (queries + LANES - 1) / LANES * LANES; }

// ---- Heads and tasks ------------------------------------------------------------------------------------------------

// Where a head is. A row of qkv holds, group by group, query | key | value of all heads of the group; a row of the
// output holds head by head.
struct Head {
  const Group* group;
  int32_t number;             // in the whole pattern
  int64_t query, key, value;  // first columns in qkv
  int64_t output;             // first column in the output
  int64_t sums;               // first of its rows of sums
};

inline std::vector<Head> heads_of(const Batch& batch) {
  std::vector<Head> heads;
  int64_t group_begin = 0, sums = 0;
  for (int g = 0; g < batch.num_groups; g++) {
    const Group& group = batch.groups[g];
    const int64_t width = int64_t(group.heads) * batch.head_dim;
    for (int h = 0; h < group.heads; h++) {
      const int64_t query = 3 * group_begin + h * batch.head_dim;
      heads.push_back({&group, int32_t(heads.size()), query, query + width, query + 2 * width,
                       group_begin + h * batch.head_dim, sums});
      sums += group.num_sums;
    }
    group_begin += width;
  }
  return heads;
}

struct Task {
  Head head;
  bool is_question;  // of document `index`; else lines of chunk `index`
  int32_t index;
  int64_t pairs;
};

// Longest first, so that no thread begins a long task when the others are done.
inline std::vector<Task> tasks_of(const Batch& batch, bool with_lines, bool with_questions) {
  std::vector<Task> tasks;
  for (const Head& head : heads_of(batch)) {
    const Group& group = *head.group;
    for (int32_t c = 0; with_lines && c < group.num_chunks; c++) {
      const Chunk& chunk = group.chunks[c];
      const int64_t question = group.documents[chunk.document].table - group.documents[chunk.document].begin;
      int64_t pairs = 0;
      for (int32_t l = chunk.first_line; l < chunk.end_line; l++) {
        const int64_t length = group.lines[l].end - group.lines[l].begin;
        pairs += length * (length + question);
      }
      tasks.push_back({head, false, c, pairs});
    }
    for (int32_t d = 0; with_questions && d < group.num_documents; d++) {
      const Document& document = group.documents[d];
      const int64_t question = document.table - document.begin, all = document.end - document.begin;
      if (question) tasks.push_back({head, true, d, question * all});
    }
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.pairs > b.pairs; });
  return tasks;
}

// One thread opens no OpenMP region: in a forked process, as the workers of a data loader are, that would hang.
template <class Body>
void run_tasks(const std::vector<Task>& tasks, int threads, Body body) {
  const int64_t count = tasks.size();
  if (threads <= 1 || count <= 1) {
    for (const Task& task : tasks) body(task);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t t = 0; t < count; t++) body(tasks[t]);
#else
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t t; (t = next++) < count;) body(tasks[t]);
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(threads, count); i++) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
#endif
}

// What a task reads of its head.
struct HeadInput {
  Columns<const Stored> query, key, value;
  const Cell* cells;  // see Group
  int radius;         // see Group
  bool is_relative;
  alignas(64) Number relative[LABELS * WIDTH];  // vectors of the labels
  const Number* labels[LABELS];                 // their rows
  int head_dim;
  Number scale;  // of queries: scores are in units of log 2
  const uint32_t *query_words = nullptr, *key_words = nullptr;  // by token; null: no dropout
  int32_t drop_below;
  Number kept;

  HeadInput(const Batch& batch, const Head& head, const Stored* qkv)
      : cells(head.group->cells),
        radius(head.group->radius),
        is_relative(batch.relative),
        head_dim(batch.head_dim),
        drop_below(batch.drop_below),
        kept(batch.query_words ? batch.kept : 1) {
    const int64_t stride = 3 * int64_t(batch.heads) * head_dim;
    query = {qkv + head.query, stride}, key = {qkv + head.key, stride}, value = {qkv + head.value, stride};
    scale = Number(1.4426950408889634 / std::sqrt(double(head_dim)));
    if (batch.query_words) {
      query_words = batch.query_words + head.number * batch.tokens;
      key_words = batch.key_words + head.number * batch.tokens;
    }
    for (int l = 0; is_relative && l < LABELS; l++) {
      const Stored* vectors = static_cast<const Stored*>(batch.relative) + l * stride / 3;
      labels[l] = relative + l * WIDTH;
      read_row(vectors + head.output, head_dim, 1, relative + l * WIDTH);
    }
  }
};

// Which of LANES queries drop a key: a hash of the words of query and key, the same as in dropout.py, is below a limit.
inline Mask is_dropped(const uint32_t* query_words, uint32_t key_word, int32_t drop_below) {
  Words hash = (load<Words>(query_words) ^ key_word) * 0x7feb352du;
  hash = (hash ^ hash >> 15) * 0x846ca68bu;
  return __builtin_convertvector((SignedWords)hash < drop_below, Mask);
}

// Keys and values of some tokens, behind pointers: where they lie if that is possible and pays, else copied.
struct Keys {
  const int32_t* tokens;
  int count;
  std::vector<const Number*> key, value;
  std::vector<Number> copies;

  void read(const HeadInput& head, const int32_t* first, int n, bool copy) {
    tokens = first, count = n;
    key.resize(n), value.resize(n);
    if (std::is_same_v<Stored, Number> && head.head_dim == WIDTH && !copy) {
      for (int j = 0; j < n; j++) {
        key[j] = reinterpret_cast<const Number*>(head.key[tokens[j]]);
        value[j] = reinterpret_cast<const Number*>(head.value[tokens[j]]);
        for (int e = 0; e < WIDTH; e += 64 / int(sizeof(Number)))  // rows lie too far apart for the processor to guess
          __builtin_prefetch(key[j] + e), __builtin_prefetch(value[j] + e);
      }
      return;
    }
    copies.resize(std::max<size_t>(copies.size(), 2 * size_t(n) * WIDTH));
    for (int j = 0; j < n; j++) {
      Number *own_key = Packed<Number>{copies.data()}[j], *own_value = Packed<Number>{copies.data()}[n + j];
      read_row(head.key[tokens[j]], head.head_dim, 1, own_key);
      read_row(head.value[tokens[j]], head.head_dim, 1, own_value);
      key[j] = own_key, value[j] = own_value;
    }
  }
};

// What a query and a key are to each other: both of a line, both of a question, or one of each.
enum class Pairs { IN_LINE, IN_QUESTION, ACROSS };

// How some queries see keys, besides the products: which pairs are closed, and the scores of their labels.
struct Relations {
  alignas(64) int32_t row[QUERIES], column[QUERIES];
  alignas(64) Number label_scores[LABELS * QUERIES];

  void start(const HeadInput& head, const int32_t* tokens, int count, int lanes, const Number* across) {
    for (int q = 0; head.cells && q < count; q++)
      row[q] = head.cells[tokens[q]].row, column[q] = head.cells[tokens[q]].column;
    if (head.is_relative) multiply(LABELS, lanes, head.labels, across, label_scores);
  }

  // Add the scores of labels to a tile. Scores of closed pairs become so low that their weights vanish; infinity less
  // infinity would be NaN. `distance`: from the first query to the first key, in their line.
  void apply(const HeadInput& head, const int32_t* key_tokens, int keys, int lanes, Pairs pairs, int distance,
             Number* tile) const {
    const Vector lowest = Vector{} - Number(1e30);
    const auto change = [&](auto changed) {
      for (int q = 0; q < lanes; q += LANES)
        for (int j = 0; j < keys; j++) {
          Number* scores = tile + j * QUERIES + q;
          store(scores, changed(load(scores), j, q));
        }
    };
    const auto shared = [&](int j, int q) { return shares(head.cells[key_tokens[j]], q); };
    if (!head.is_relative) {
      if (head.cells && pairs == Pairs::IN_LINE)
        change([&](Vector score, int j, int q) { return shared(j, q) ? score : lowest; });
    } else if (pairs == Pairs::IN_QUESTION) {
      change([&](Vector score, int, int q) { return score + of_label(ANOTHER, q); });
    } else if (pairs == Pairs::ACROSS) {
      change([&](Vector score, int j, int q) {
        return score + (shared(j, q) ? of_label(MINE, q) : of_label(ANOTHER, q));
      });
    } else {
      change([&](Vector score, int j, int q) {
        const int offset = distance + j - q;  // from the first lane
        return is_near(offset, head.radius) ? score + by_offset(offset, q) : lowest;
      });
    }
  }

  // Add the gradients of a tile's scores to those of the labels' scores.
  void collect(const HeadInput& head, const int32_t* key_tokens, int keys, int lanes, Pairs pairs, int distance,
               const Number* tile, Number* grad_labels) const {
    const auto add = [&](int label, int q, Vector grad) {
      Number* place = grad_labels + label * QUERIES + q;
      store(place, load(place) + grad);
    };
    for (int q = 0; q < lanes; q += LANES)
      for (int j = 0; j < keys; j++) {
        const Vector grad = load(tile + j * QUERIES + q);
        const int offset = distance + j - q;  // from the first lane
        if (pairs == Pairs::IN_QUESTION) {
          add(ANOTHER, q, grad);
        } else if (pairs == Pairs::ACROSS) {
          const Mask is_mine = shares(head.cells[key_tokens[j]], q);
          add(MINE, q, is_mine ? grad : Vector{}), add(ANOTHER, q, is_mine ? Vector{} : grad);
        } else if (is_far(offset)) {
          add(offset < 0 ? 0 : 2 * FARTHEST, q, grad);
        } else {
          for (int i = 0; i < LANES; i++) grad_labels[label_of(offset - i) * QUERIES + q + i] += grad[i];
        }
      }
  }

 private:
  static int label_of(int offset) { return std::clamp(offset, -FARTHEST, FARTHEST) + FARTHEST; }

  // Whether all lanes have the label of one end, if the first lane has this offset and each next one a lower one.
  static bool is_far(int offset) { return offset - (LANES - 1) >= FARTHEST || offset <= -FARTHEST; }

  static Mask is_near(int offset, int radius) {
    SignedWords offsets;
    for (int i = 0; i < LANES; i++) offsets[i] = offset - i;
    return __builtin_convertvector((offsets <= radius) & (offsets >= -radius), Mask);
  }

  Mask shares(Cell cell, int q) const {
    const SignedWords rows = load<SignedWords>(row + q), columns = load<SignedWords>(column + q);
    return __builtin_convertvector((rows == cell.row) | (columns == cell.column), Mask);
  }

  Vector of_label(int label, int q) const { return load(label_scores + label * QUERIES + q); }

  Vector by_offset(int offset, int q) const {
    if (is_far(offset)) return of_label(label_of(offset), q);
    Vector scores;
    for (int i = 0; i < LANES; i++) scores[i] = label_scores[label_of(offset - i) * QUERIES + q + i];
    return scores;
  }
};

// The keys of a line that a block of `count` queries sees, `query` being the place of the first one in the line.
struct Range {
  int from, to;

  Range(const HeadInput& head, int query, int count, int keys)
      : from(head.radius ? std::max(0, query - head.radius) : 0),
        to(head.radius ? std::min(keys, query + count + head.radius) : keys) {}
};

// ---- Forward --------------------------------------------------------------------------------------------------------

// Some queries of one head, and their results for the keys seen so far.
struct ForwardBlock {
  alignas(64) Number across[WIDTH * QUERIES];  // the scaled queries, [WIDTH][QUERIES]
  alignas(64) Number tile[KEYS * QUERIES];     // scores, then weights
  alignas(64) Number output[QUERIES * WIDTH];
  alignas(64) Number highest[QUERIES], sum[QUERIES], rescale[QUERIES];
  alignas(64) uint32_t words[QUERIES];
  Relations relations;
  const int32_t* tokens;
  int count, lanes;
  bool is_first;  // no keys seen yet

  void start(const HeadInput& head, const int32_t* first, int n) {
    tokens = first, count = n, lanes = lanes_for(n), is_first = true;
    for (int q = 0; q < count; q++) read_row(head.query[tokens[q]], head.head_dim, head.scale, output + q * WIDTH);
    transpose(output, count, lanes, across);
    for (int q = 0; head.query_words && q < count; q++) words[q] = head.query_words[tokens[q]];
    relations.start(head, tokens, count, lanes, across);
  }

  void see(const HeadInput& head, const Keys& keys, Pairs pairs) {
    see(head, keys, pairs, 0, {head, 0, keys.count, keys.count});
  }

  // `query`: place of the first query in the line of the keys.
  void see(const HeadInput& head, const Keys& keys, Pairs pairs, int query, Range range) {
    for (int first = range.from; first < range.to; first += KEYS) {
      const int n = std::min(KEYS, range.to - first);
      multiply(n, lanes, keys.key.data() + first, across, tile);
      relations.apply(head, keys.tokens + first, n, lanes, pairs, first - query, tile);
      if (head.key_words)
        weigh<true>(head, keys.tokens + first, n);
      else
        weigh<false>(head, keys.tokens + first, n);
      for (int q = 0; !is_first && q < count; q++)
        for (int e = 0; e < WIDTH; e += LANES)
          store(output + q * WIDTH + e, load(output + q * WIDTH + e) * rescale[q]);
      add_keys(count, n, tile, keys.value.data() + first, output, is_first);
      is_first = false;
    }
  }

  // Turn scores into weights 2^(score - highest so far). Dropped pairs count in the sum: dropout follows the softmax.
  template <bool DROPS>
  void weigh(const HeadInput& head, const int32_t* key_tokens, int n) {
    for (int q = 0; q < lanes; q += LANES) {
      Vector top = load(tile + q), before = {}, total = {};
      for (int j = 1; j < n; j++) {
        const Vector score = load(tile + j * QUERIES + q);
        top = score > top ? score : top;
      }
      if (!is_first) {
        const Vector former = load(highest + q);
        top = former > top ? former : top;
        const Vector factor = exp2_of(former - top);
        before = load(sum + q) * factor;
        store(rescale + q, factor);
      }
      for (int j = 0; j < n; j++) {
        Number* place = tile + j * QUERIES + q;
        Vector weight = exp2_of(load(place) - top);
        total += weight;
        if constexpr (DROPS)
          weight = is_dropped(words + q, head.key_words[key_tokens[j]], head.drop_below) ? Vector{} : weight;
        store(place, weight);
      }
      store(highest + q, top);
      store(sum + q, before + total);
    }
  }

  // Write the output and log2 of the sum of 2^score.
  void finish(const HeadInput& head, Columns<Stored> to, Number* log_sum) {
    for (int q = 0; q < count; q++) {
      write_row(output + q * WIDTH, head.head_dim, 1 / (sum[q] * head.kept), to[tokens[q]]);
      log_sum[tokens[q]] = highest[q] + std::log2(sum[q]);
    }
  }
};

struct ForwardSpace {  // what a thread keeps from task to task, for memory costs more to get than to use
  ForwardBlock block;
  Keys question, line;
};

void forward_question(ForwardSpace& space, const Group& group, const Document& document, const HeadInput& head,
                      Columns<Stored> output, Number* log_sum) {
  for (int32_t q = document.begin; q < document.table; q += QUERIES) {
    space.block.start(head, group.order + q, std::min(QUERIES, document.table - q));
    // Few blocks: to keep all keys does not pay.
    const auto see = [&](int32_t begin, int32_t end, Pairs pairs) {
      for (int32_t j = begin; j < end; j += KEYS) {
        space.line.read(head, group.order + j, std::min(KEYS, end - j), false);
        space.block.see(head, space.line, pairs);
      }
    };
    see(document.begin, document.table, Pairs::IN_QUESTION);
    see(document.table, document.end, Pairs::ACROSS);
    space.block.finish(head, output, log_sum);
  }
}

void forward_lines(ForwardSpace& space, const Group& group, const Chunk& chunk, const HeadInput& head,
                   Columns<Stored> output, Number* log_sum) {
  const Document& document = group.documents[chunk.document];
  space.question.read(head, group.order + document.begin, document.table - document.begin, false);
  for (int32_t l = chunk.first_line; l < chunk.end_line; l++) {
    const auto [begin, end] = group.lines[l];
    space.line.read(head, group.order + begin, end - begin, end - begin >= COPY_FROM);
    for (int32_t q = begin; q < end; q += QUERIES) {
      const int count = std::min(QUERIES, end - q);
      space.block.start(head, group.order + q, count);
      space.block.see(head, space.question, Pairs::ACROSS);
      const Range range(head, q - begin, count, end - begin);
      space.block.see(head, space.line, Pairs::IN_LINE, q - begin, range);
      space.block.finish(head, output, log_sum);
    }
  }
}

void forward(const Batch& batch, const Stored* qkv, Stored* output, Number* log_sums) {
  const int64_t hidden = int64_t(batch.heads) * batch.head_dim;
  for (int i = 0; i < batch.num_padding; i++) std::fill_n(output + batch.padding[i] * hidden, hidden, Stored{});
  run_tasks(tasks_of(batch, true, true), batch.threads, [&](const Task& task) {
    thread_local ForwardSpace space;
    const Group& group = *task.head.group;
    const HeadInput head(batch, task.head, qkv);
    const Columns<Stored> to{output + task.head.output, hidden};
    Number* log_sum = log_sums + task.head.number * batch.tokens;
    if (task.is_question)
      forward_question(space, group, group.documents[task.index], head, to, log_sum);
    else
      forward_lines(space, group, group.chunks[task.index], head, to, log_sum);
  });
}

// ---- Backward -------------------------------------------------------------------------------------------------------

// What backward reads and writes besides the input of a head; all [tokens] or [tokens, columns].
struct HeadGradient {
  Columns<const Stored> output, grad_output;
  Columns<Stored> grad_query, grad_key, grad_value;
  const Number* log_sum;

  HeadGradient(const Batch& batch, const Head& head, const Stored* output, const Stored* grad_output,
               const Number* log_sums, Stored* grad)
      : log_sum(log_sums + head.number * batch.tokens) {
    const int64_t hidden = int64_t(batch.heads) * batch.head_dim;
    this->output = {output + head.output, hidden}, this->grad_output = {grad_output + head.output, hidden};
    grad_query = {grad + head.query, 3 * hidden};
    grad_key = {grad + head.key, 3 * hidden}, grad_value = {grad + head.value, 3 * hidden};
  }
};

// Gradients of keys and values to add to, behind pointers: in place if that is possible and pays, else apart.
struct KeyGradients {
  std::vector<Number*> key, value;
  std::vector<Number> own;
  bool in_place, overwrite;  // overwrite: nothing is there yet

  void start(const HeadInput& head, const HeadGradient& grad, const int32_t* tokens, int n, bool apart) {
    key.resize(n), value.resize(n), overwrite = true;
    in_place = std::is_same_v<Stored, Number> && head.head_dim == WIDTH && !apart;
    if (!in_place) own.resize(std::max<size_t>(own.size(), 2 * size_t(n) * WIDTH));
    for (int j = 0; j < n; j++) {
      key[j] = in_place ? reinterpret_cast<Number*>(grad.grad_key[tokens[j]]) : own.data() + 2 * j * WIDTH;
      value[j] = in_place ? reinterpret_cast<Number*>(grad.grad_value[tokens[j]]) : key[j] + WIDTH;
    }
  }

  void clear() {
    for (Number* row : key) std::fill_n(row, WIDTH, Number(0));
    for (Number* row : value) std::fill_n(row, WIDTH, Number(0));
    overwrite = false;
  }

  void finish(const HeadInput& head, const HeadGradient& grad, const int32_t* tokens) {
    for (size_t j = 0; !in_place && j < key.size(); j++) {
      write_row(key[j], head.head_dim, 1, grad.grad_key[tokens[j]]);
      write_row(value[j], head.head_dim, 1, grad.grad_value[tokens[j]]);
    }
  }
};

struct Tiles {
  alignas(64) Number weights[KEYS * QUERIES], grad_scores[KEYS * QUERIES];
};

// Some queries of one head, what forward made of them, and the gradient of the queries for the keys seen so far.
//
// With P the weights, M dropout's mask (0, or 1 / kept), O the output and a prefix d for gradients:
// dV = (P M)^T dO, dS = P (M dO V^T - dO . O), dQ = dS K scale, dK = dS^T Q scale. Dropout leaves `dO . O` what it is,
// for O is what dropout leaves. As Q is multiplied by log2(e), dO V^T and dO . O are by log(2) where they make dS.
struct BackwardBlock {
  alignas(64) Number across[WIDTH * QUERIES], grad_across[WIDTH * QUERIES];  // Q scale, dO log(2): [WIDTH][QUERIES]
  alignas(64) Number queries[QUERIES * WIDTH], grad_output[QUERIES * WIDTH], grad_query[QUERIES * WIDTH];
  alignas(64) Number log_sum[QUERIES], delta[QUERIES];  // delta: dO . O log(2)
  alignas(64) uint32_t words[QUERIES];
  alignas(64) Number grad_labels[LABELS * QUERIES];  // of the labels' scores
  Relations relations;
  const int32_t* tokens;
  int count, lanes;
  bool is_first;  // no keys seen yet

  void start(const HeadInput& head, const HeadGradient& grad, const int32_t* first, int n) {
    constexpr Number LOG_2 = 0.6931471805599453;
    tokens = first, count = n, lanes = lanes_for(n), is_first = true;
    std::fill(log_sum + count, log_sum + lanes, Number(0));
    std::fill(delta + count, delta + lanes, Number(0));
    for (int q = 0; q < count; q++) {
      Number *d_output = grad_output + q * WIDTH, *scratch = grad_query + q * WIDTH;
      read_row(head.query[tokens[q]], head.head_dim, head.scale, queries + q * WIDTH);
      read_row(grad.grad_output[tokens[q]], head.head_dim, LOG_2, d_output);
      read_row(grad.output[tokens[q]], head.head_dim, 1, scratch);
      Vector product = {};
      for (int e = 0; e < WIDTH; e += LANES) product += load(scratch + e) * load(d_output + e);
      delta[q] = 0;
      for (int i = 0; i < LANES; i++) delta[q] += product[i];
      log_sum[q] = grad.log_sum[tokens[q]];
      if (head.query_words) words[q] = head.query_words[tokens[q]];
    }
    transpose(queries, count, lanes, across);
    transpose(grad_output, count, lanes, grad_across);
    for (int q = 0; q < count; q++) read_row(grad.grad_output[tokens[q]], head.head_dim, 1, grad_output + q * WIDTH);
    relations.start(head, tokens, count, lanes, across);
    if (head.is_relative) std::fill_n(grad_labels, LABELS * QUERIES, Number(0));
  }

  void see(Tiles& tiles, const HeadInput& head, const Keys& keys, KeyGradients& grads, Pairs pairs) {
    see(tiles, head, keys, grads, pairs, 0, {head, 0, keys.count, keys.count});
  }

  void see(Tiles& tiles, const HeadInput& head, const Keys& keys, KeyGradients& grads, Pairs pairs, int query,
           Range range) {
    for (int first = range.from; first < range.to; first += KEYS) {
      const int n = std::min(KEYS, range.to - first);
      multiply(n, lanes, keys.key.data() + first, across, tiles.weights);
      relations.apply(head, keys.tokens + first, n, lanes, pairs, first - query, tiles.weights);
      multiply(n, lanes, keys.value.data() + first, grad_across, tiles.grad_scores);
      if (head.key_words)
        differentiate<true>(tiles, head, keys.tokens + first, n);
      else
        differentiate<false>(tiles, head, keys.tokens + first, n);
      add_queries(count, n, tiles.weights, grad_output, grads.value.data() + first, grads.overwrite);
      add_queries(count, n, tiles.grad_scores, queries, grads.key.data() + first, grads.overwrite);
      add_keys(count, n, tiles.grad_scores, keys.key.data() + first, grad_query, is_first);
      is_first = false;
      if (head.is_relative)
        relations.collect(head, keys.tokens + first, n, lanes, pairs, first - query, tiles.grad_scores, grad_labels);
    }
    grads.overwrite = false;
  }

  // The labels' vectors are keys; add their gradients to `grad_relative`, LABELS rows.
  void see_labels(const HeadInput& head, Number* grad_relative) {
    if (!head.is_relative) return;
    Number* rows[LABELS];
    for (int l = 0; l < LABELS; l++) rows[l] = grad_relative + l * WIDTH;
    add_queries(count, LABELS, grad_labels, queries, rows, false);
    add_keys(count, LABELS, grad_labels, head.labels, grad_query, false);
  }

  // Turn scores into P M, and dO V^T into dS.
  template <bool DROPS>
  void differentiate(Tiles& tiles, const HeadInput& head, const int32_t* key_tokens, int n) {
    for (int q = 0; q < lanes; q += LANES) {
      const Vector log_sums = load(log_sum + q), deltas = load(delta + q), gain = Vector{} + 1 / head.kept;
      for (int j = 0; j < n; j++) {
        Number *weight_place = tiles.weights + j * QUERIES + q, *grad_place = tiles.grad_scores + j * QUERIES + q;
        const Vector weight = exp2_of(load(weight_place) - log_sums);
        if constexpr (DROPS) {
          const Mask dropped = is_dropped(words + q, head.key_words[key_tokens[j]], head.drop_below);
          const Vector mask = dropped ? Vector{} : gain;
          store(weight_place, weight * mask);
          store(grad_place, weight * (mask * load(grad_place) - deltas));
        } else {
          store(weight_place, weight);
          store(grad_place, weight * (load(grad_place) - deltas));
        }
      }
    }
  }
};

struct BackwardSpace {
  Tiles tiles;
  BackwardBlock block;
  std::vector<BackwardBlock> question_blocks;
  Keys question, line;
  KeyGradients question_grads, line_grads;
};

// A row of sums for each question token: gradients of query | key | value, WIDTH each.
constexpr int SUMS = 3 * WIDTH;

// The lines' keys are seen by the lines' queries and by the question's, the question's keys by the lines' queries, and,
// in the first chunk of a document, the question by itself. The gradients of the question go to `sums`, those of the
// labels' vectors to `grad_relative`.
void backward_lines(BackwardSpace& space, const Group& group, const Chunk& chunk, const HeadInput& head,
                    const HeadGradient& grad, Number* sums, Number* grad_relative) {
  const Document& document = group.documents[chunk.document];
  const int32_t* question = group.order + document.begin;
  const int asked = document.table - document.begin, blocks = (asked + QUERIES - 1) / QUERIES;
  Tiles& tiles = space.tiles;
  KeyGradients &question_grads = space.question_grads, &line_grads = space.line_grads;

  space.question.read(head, question, asked, false);
  question_grads.key.resize(asked), question_grads.value.resize(asked), question_grads.overwrite = true;
  for (int j = 0; j < asked; j++) {
    question_grads.key[j] = sums + j * SUMS + WIDTH;
    question_grads.value[j] = sums + j * SUMS + 2 * WIDTH;
  }
  if (int(space.question_blocks.size()) < blocks) space.question_blocks.resize(blocks);
  for (int b = 0; b < blocks; b++) {
    BackwardBlock& asking = space.question_blocks[b];
    asking.start(head, grad, question + b * QUERIES, std::min(QUERIES, asked - b * QUERIES));
    if (chunk.part == 0) asking.see(tiles, head, space.question, question_grads, Pairs::IN_QUESTION);
  }

  for (int32_t l = chunk.first_line; l < chunk.end_line; l++) {
    const auto [begin, end] = group.lines[l];
    const int32_t* tokens = group.order + begin;
    const bool is_long = end - begin >= COPY_FROM;
    space.line.read(head, tokens, end - begin, is_long);
    line_grads.start(head, grad, tokens, end - begin, is_long);
    if (head.radius && !blocks) line_grads.clear();  // no block sees all of the line
    for (int b = 0; b < blocks; b++) space.question_blocks[b].see(tiles, head, space.line, line_grads, Pairs::ACROSS);
    for (int32_t q = begin; q < end; q += QUERIES) {
      BackwardBlock& block = space.block;
      const int count = std::min(QUERIES, end - q);
      block.start(head, grad, group.order + q, count);
      block.see(tiles, head, space.question, question_grads, Pairs::ACROSS);
      const Range range(head, q - begin, count, end - begin);
      block.see(tiles, head, space.line, line_grads, Pairs::IN_LINE, q - begin, range);
      block.see_labels(head, grad_relative);
      for (int i = 0; i < block.count; i++)
        write_row(block.grad_query + i * WIDTH, head.head_dim, head.scale, grad.grad_query[block.tokens[i]]);
    }
    line_grads.finish(head, grad, tokens);
  }

  for (int b = 0; b < blocks; b++) space.question_blocks[b].see_labels(head, grad_relative);
  for (int j = 0; j < asked; j++) {
    const Number* row = space.question_blocks[j / QUERIES].grad_query + j % QUERIES * WIDTH;
    for (int e = 0; e < WIDTH; e++) sums[j * SUMS + e] = row[e] * head.scale;
  }
}

// Add up, chunk after chunk, what they found for a question.
void add_chunks(const Group& group, const Document& document, const HeadGradient& grad, int head_dim,
                const Number* sums) {
  const int asked = document.table - document.begin;
  for (int j = 0; j < asked; j++) {
    Number total[SUMS] = {};
    for (int c = 0; c < document.chunks; c++)
      for (int e = 0; e < SUMS; e++) total[e] += sums[(int64_t(c) * asked + j) * SUMS + e];
    const int32_t token = group.order[document.begin + j];
    write_row(total, head_dim, 1, grad.grad_query[token]);
    write_row(total + WIDTH, head_dim, 1, grad.grad_key[token]);
    write_row(total + 2 * WIDTH, head_dim, 1, grad.grad_value[token]);
  }
}

void backward(const Batch& batch, const Stored* qkv, const Stored* output, const Stored* grad_output,
              const Number* log_sums, Stored* grad, Number* sums, Number* grad_relative) {
  const int64_t row = 3 * int64_t(batch.heads) * batch.head_dim;
  for (int i = 0; i < batch.num_padding; i++) std::fill_n(grad + batch.padding[i] * row, row, Stored{});
  run_tasks(tasks_of(batch, true, false), batch.threads, [&](const Task& task) {
    thread_local BackwardSpace space;
    const Group& group = *task.head.group;
    const Chunk& chunk = group.chunks[task.index];
    const Document& document = group.documents[chunk.document];
    const int64_t place = task.head.sums + document.first_sum + int64_t(chunk.part) * (document.table - document.begin);
    const HeadGradient gradient(batch, task.head, output, grad_output, log_sums, grad);
    const int64_t part = int64_t(task.head.number) * group.num_chunks + task.index;  // relative heads are of one group
    backward_lines(space, group, chunk, HeadInput(batch, task.head, qkv), gradient, sums + place * SUMS,
                   grad_relative + part * LABELS * WIDTH);
  });
  run_tasks(tasks_of(batch, false, true), batch.threads, [&](const Task& task) {
    const Document& document = task.head.group->documents[task.index];
    const HeadGradient gradient(batch, task.head, output, grad_output, log_sums, grad);
    add_chunks(*task.head.group, document, gradient, batch.head_dim,
               sums + (task.head.sums + document.first_sum) * SUMS);
  });
}

}  // namespace

extern "C" {

const char* mate_instructions() { return INSTRUCTIONS; }

// qkv [tokens, 3 * hidden] -> output [tokens, hidden], log_sums [heads, tokens].
void mate_forward(const Batch* batch, const Stored* qkv, Stored* output, Number* log_sums) {
  forward(*batch, qkv, output, log_sums);
}

// -> grad [tokens, 3 * hidden]. sums: space for the num_sums of every head, rows of 3 * HEAD_DIM numbers.
// grad_relative [heads, chunks, LABELS, HEAD_DIM]: zeros, to which the gradients of `relative` are added, if there is
// one.
void mate_backward(const Batch* batch, const Stored* qkv, const Stored* output, const Stored* grad_output,
                   const Number* log_sums, Stored* grad, Number* sums, Number* grad_relative) {
  backward(*batch, qkv, output, grad_output, log_sums, grad, sums, grad_relative);
}

}  // extern "C"
