#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/shared_matrix.h"

namespace bridgemark {

namespace backend {
struct FactoredPower;
struct SparsePower;
class ReferencePower;
}  // namespace backend

class LowRankStep;
class SparseStep;
struct GraphWeights;

// How the matrix of an elementary step is given.
enum class ReferenceKind {
  kUniform,
  kGaussian,
  kMatrix,
  kLowRank,
  kBirthDeath,
  kAbsorbing,
  kGraph
};

// "uniform", "gaussian", "matrix", "lowrank", "birth-death", "absorbing" or "graph".
std::string_view reference_kind_name(ReferenceKind kind);

// All of these names, with commas: for messages.
std::string reference_kind_names();

// The kind of such a name, or nothing.
std::optional<ReferenceKind> parse_reference_kind(std::string_view name);

// Whether S, gamma and the steps say all of a process of the kind.
bool has_gamma_alone(ReferenceKind kind);

// The number of elementary steps between x0 and x1 in the paper's pairs.
inline constexpr int kDefaultTotalSteps = 128;

// The most that a process may have, in memory and in a pair folder.
inline constexpr int kMaxTotalSteps = 1 << 20;

// A state fits two bytes.
inline constexpr int kMaxCategories = 65536;

// Of a reference whose powers are tables [S,S]: more would need gigabytes for one.
inline constexpr int kMaxTableCategories = 16384;

// A reference with factors, uniform or of low rank, has tables of its powers up to so many
// categories, for whoever needs them whole; beyond, it is an operator alone. So is an absorbing
// one. Birth-death and graphs have no more.
inline constexpr int kMaxFactoredTable = 4096;

// Q = exp(log_identity) I + exp(log_uniform) 11^T.
struct RankOneMatrix {
  double log_identity;
  double log_uniform;
};

// A Markov chain on {0..S-1}, the same for every coordinate and every elementary step; total_steps
// of them lead from x0 to x1. Cheap to copy: copies share the powers computed so far.
class ReferenceProcess {
 public:
  // Stays with 1 - gamma, else moves to any other category alike. gamma in (0, 1), S >= 2.
  static ReferenceProcess uniform(int num_categories, double gamma,
                                  int total_steps = kDefaultTotalSteps);

  // Moves by delta with weight exp(-4 delta^2 / (gamma (S-1))^2) over the sum of that weight for
  // delta = -(S-1)..S-1; the diagonal takes the rest of the row. gamma > 0, S >= 2.
  static ReferenceProcess gaussian(int num_categories, double gamma,
                                   int total_steps = kDefaultTotalSteps);

  // probabilities[x, y] of an elementary step x -> y: strictly positive, rows that sum to 1 within
  // 1e-6 (they are normalised to full precision). Need not be symmetric.
  static ReferenceProcess from_matrix(const Matrix<double>& probabilities,
                                      int total_steps = kDefaultTotalSteps);

  // Stays with 1 - gamma, else moves by a matrix of low rank: (1 - gamma) I + gamma U V^T. U and V
  // are [S,r] and not negative, each entry of U V^T is positive, its rows sum to 1 within 1e-6
  // (they are normalised to full precision), and gamma lies in (0, 1]. Need not be symmetric.
  static ReferenceProcess low_rank(Matrix<double> u, Matrix<double> v, double gamma,
                                   int total_steps = kDefaultTotalSteps);

  // For counts: one up or one down with gamma / 2 each in an elementary step; a step that would
  // leave 0..S-1 stays where it is. gamma in (0, 1), S in 2..kMaxFactoredTable. Its own reversal.
  // n steps lead n categories far at the most: what lies beyond has probability 0.
  static ReferenceProcess birth_death(int num_categories, double gamma,
                                      int total_steps = kDefaultTotalSteps);

  // To the mask, the last category, with gamma in each elementary step, and nowhere from there:
  // all else has probability 0. gamma in (0, 1), S in 2..kMaxCategories. Has no reversal.
  static ReferenceProcess absorbing(int num_categories, double gamma,
                                    int total_steps = kDefaultTotalSteps);

  // From x to y with gamma W[x,y] / c, where c is the largest row sum of the weights W; what is
  // left of a row stays. So W may be rates, or the probabilities of a walk that takes a step with
  // gamma. gamma in (0, 1], S in 2..kMaxFactoredTable. Where no way leads the probability is 0.
  static ReferenceProcess graph(GraphWeights weights, double gamma,
                                int total_steps = kDefaultTotalSteps);

  // Of a kind that has a gamma alone.
  static ReferenceProcess of_gamma(ReferenceKind kind, int num_categories, double gamma,
                                   int total_steps = kDefaultTotalSteps);

  ReferenceKind kind() const { return kind_; }
  int num_categories() const { return num_categories_; }
  double gamma() const { return gamma_; }  // NaN for a matrix
  int total_steps() const { return total_steps_; }

  // Whether it is its own reversal in time.
  bool is_symmetric() const;

  // Whether there is a reversal in time: not where some category never leads to another, as no law
  // that a step leaves as it is then has a part of each.
  bool has_reversal() const;

  // What from_matrix was given, bit for bit, for the record; null for any other process.
  const Matrix<double>* given_matrix() const;

  // Of a process of low rank, with U and V as they were given; null for any other.
  const LowRankStep* low_rank_step() const { return low_rank_.get(); }

  // Of a birth-death, absorbing or graph process; null for any other.
  const SparseStep* sparse_step() const { return sparse_.get(); }

  // Throws DeviceError where the context's device has no such process: a sparse one is of the CPU
  // alone. Powers on such a device throw it as well.
  void require_device(const Context& context) const;

  // Whether there are tables of the powers: for matrix and Gaussian always, else up to
  // kMaxFactoredTable categories.
  bool has_tables() const;

  // Throws InvalidArgument where there are none.
  void require_tables() const;

  // The n-th power as an operator (backend/plan/reference_power.h): its table where there is one,
  // else its factors.
  backend::ReferencePower power(const Context& context, int n) const;

  // The factors of the n-th power, n >= 1; null where there are none.
  std::shared_ptr<const backend::FactoredPower> factored_power(const Context& context, int n) const;

  // The entries above 0 of the n-th power of a process that has a sparse_step(); null for any
  // other.
  std::shared_ptr<const backend::SparsePower> sparse_power(const Context& context, int n) const;

  // log of the n-th power of the elementary matrix, [S,S] with row x_from; n = 0 is the identity.
  // Computed on first use and kept, within kKeptPowerBytes (process/power_cache.h) for those asked
  // for last: for chains, which ask for each of theirs again and again. Throws InvalidArgument
  // where there are no tables, and where it would need more memory than is free.
  SharedMatrix log_power(const Context& context, int n) const;

  // The same for one who asks once: of what it is made from, the powers of two alone are kept.
  Matrix<double> log_power_once(const Context& context, int n) const;

  std::size_t num_kept_powers() const;

  // log of the law that a step leaves as it is, [S]; even for a symmetric process. Throws
  // InvalidArgument unless has_reversal().
  std::vector<double> log_stationary() const;

  // The process seen backwards: probability of x_from given x_to under its stationary law. A
  // symmetric process is its own reversal. A bridge keeps its coupling when its reference is
  // reversed with it, since both directions differ by factors of one end alone. Throws
  // InvalidArgument unless has_reversal().
  ReferenceProcess time_reversed() const;

  // How far a coordinate moves over all steps, in categories: total_steps times the mean of
  // |x_1 - x_0| over a uniform x_0. Steps may lead back, so it is at least the distance of the
  // ends.
  double expected_movement() const;

  // The n-th power of a uniform process, where its identity part is not negative.
  std::optional<RankOneMatrix> rank_one_power(int n) const;

 private:
  struct Kept;

  // log_elementary: the elementary step of a kind whose powers are made from its table.
  ReferenceProcess(ReferenceKind kind, int num_categories, double gamma, int total_steps,
                   std::shared_ptr<const Matrix<double>> log_elementary = nullptr);

  static ReferenceProcess sparse(ReferenceKind kind, int total_steps, SparseStep step);

  void check_power(int n) const;
  void require_reversal() const;
  Matrix<double> make_power(const Context& context, int n) const;
  Matrix<double> make_product(const Context& context, int n) const;

  ReferenceKind kind_;
  int num_categories_;
  double gamma_;
  int total_steps_;
  std::shared_ptr<const Matrix<double>> log_elementary_;  // null for a kind with factors
  std::shared_ptr<const Matrix<double>> given_;           // of from_matrix
  std::shared_ptr<const LowRankStep> low_rank_;
  std::shared_ptr<const SparseStep> sparse_;
  std::shared_ptr<Kept> kept_;
};

// Under a reference that moves less than this, in categories, x1 is x0 all but always: every solver
// is then perfect and a benchmark says nothing. Those of the presets move by 3.8 to 76.
inline constexpr double kLeastMovement = 0.1;

// A line that says so, with what it is and a gamma that would do; nothing where it does move.
std::optional<std::string> movement_warning(const ReferenceProcess& process);

// A reference process seen at num_steps + 1 times, total_steps / num_steps elementary steps apart.
class ReferenceChain {
 public:
  // Throws InvalidArgument unless num_steps >= 1 divides the process's total_steps.
  ReferenceChain(ReferenceProcess process, int num_steps);

  const ReferenceProcess& process() const { return process_; }
  int num_categories() const { return process_.num_categories(); }
  int num_steps() const { return num_steps_; }
  int elementary_steps(int n) const { return n * skip_; }  // behind n steps of the chain

  // [S,S]; n = 0..num_steps.
  SharedMatrix log_cumulative(const Context& context, int n) const;
  SharedMatrix log_onestep(const Context& context) const { return log_cumulative(context, 1); }

  // The same as an operator.
  backend::ReferencePower power(const Context& context, int n) const;

 private:
  void check_step(int n) const;

  ReferenceProcess process_;
  int num_steps_;
  int skip_;
};

}  // namespace bridgemark
