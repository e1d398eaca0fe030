#include "python/bindings/outside_coupling.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/given_probabilities.h"
#include "python/bindings/device_arrays.h"
#include "python/bindings/results.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

bool has_method(nb::handle object, const char* name) {
  return nb::hasattr(object, name) && PyCallable_Check(object.attr(name).ptr()) != 0;
}

// Steps of the chain that the object is, 0 where it is none.
int chain_steps(nb::handle object) {
  if (!has_method(object, "log_transition_marginals") || !nb::hasattr(object, "num_steps")) {
    return 0;
  }
  const nb::object steps = object.attr("num_steps");
  if (steps.is_none()) return 0;
  const nb::object number = nb::steal(PyNumber_Index(steps.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    throw_invalid("evaluate", "num_steps of the coupling must be a whole number or None, got {}",
                  nb::repr(steps).c_str());
  }
  return WholeNumber{number}.positive_int("num_steps of the coupling");
}

class OutsideCoupling : public Coupling {
 public:
  OutsideCoupling(nb::handle object, ArrayLike like, std::size_t dim, int num_categories)
      : object_(nb::borrow(object)),
        like_(std::move(like)),
        on_gpu_(is_on_gpu(like_)),
        dim_(dim),
        num_categories_(num_categories),
        samples_(has_method(object, "sample")),
        has_marginals_(has_method(object, "log_marginals")),
        has_joint_(has_method(object, "log_conditional")),
        draws_transitions_(has_method(object, "sample_transition")),
        num_steps_(chain_steps(object)) {}

  ~OutsideCoupling() override {
    const nb::gil_scoped_acquire acquire;
    object_.reset();
    like_.array.reset();
  }
  OutsideCoupling(const OutsideCoupling&) = delete;
  OutsideCoupling& operator=(const OutsideCoupling&) = delete;

  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }
  bool takes_device_memory() const override { return on_gpu_; }

  void sample(const Context&, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    const nb::gil_scoped_acquire acquire;
    if (samples_) {
      copy_states("sample", object_.attr("sample")(given(x0), seed_of(key, first_index)), x1);
    } else {
      copy_states("the callable", object_(given(x0)), x1);
    }
  }

  bool has_marginals() const override { return has_marginals_; }
  void write_log_marginals(const Context&, StatesView x0, MatrixView<double> out) const override {
    const nb::gil_scoped_acquire acquire;
    write_rows("log_marginals", object_.attr("log_marginals")(given(x0)), out);
  }

  bool has_joint() const override { return has_joint_; }
  void log_conditional(const Context&, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    const nb::gil_scoped_acquire acquire;
    const std::string what = answer_of("log_conditional");
    const ArrayLike answer{object_.attr("log_conditional")(given(x0), given(x1))};
    const Doubles values = answer.doubles("evaluate", what, "[B]");
    expect_rows("log_conditional", values.shape(0), x0.rows);
    const std::vector<double> checked(values.data(), values.data() + values.size());
    check_given_joint(what, checked);
    write(checked, x0.on_device, out.data());
  }

  bool has_transitions(int num_steps) const override {
    return num_steps_ > 0 && num_steps == num_steps_;
  }
  // Steps that the object draws itself may depend on each other in ways that marginals do not say.
  bool has_joint_transitions(int num_steps) const override {
    return has_transitions(num_steps) && !draws_transitions_;
  }
  int own_num_steps() const override { return num_steps_; }
  void write_log_transition_marginals(const Context&, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override {
    const nb::gil_scoped_acquire acquire;
    write_rows("log_transition_marginals",
               object_.attr("log_transition_marginals")(given(x), num_steps, n), out);
  }
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override {
    if (!draws_transitions_) {
      // By the host: coordinates are drawn from the marginals that the object gives.
      const nb::gil_scoped_acquire acquire;
      const States from = on_host(x);
      States drawn(out.rows, out.cols);
      {
        const nb::gil_scoped_release release;
        Coupling::sample_transition(context, num_steps, n, from, key, first_index, drawn);
      }
      write<std::int32_t>({drawn.data(), drawn.size()}, out.on_device, out.data);
      return;
    }
    const nb::gil_scoped_acquire acquire;
    copy_states(
        "sample_transition",
        object_.attr("sample_transition")(given(x), num_steps, n, seed_of(key, first_index)), out);
  }

  std::shared_ptr<const Coupling> reversed() const override {
    const nb::gil_scoped_acquire acquire;
    if (!has_method(object_, "reversed")) return nullptr;
    return outside_coupling(object_.attr("reversed")(), like_, dim_, num_categories_);
  }

  std::string why_missing(Ability ability, int) const override {
    return fmt::format("{} has no {}", samples_ ? "the object" : "a callable",
                       ability == Ability::kMarginals ? "log_marginals(x0)"
                       : ability == Ability::kJoint
                           ? "log_conditional(x0, x1)"
                           : "num_steps with log_transition_marginals(x, num_steps, n)");
  }

 private:
  // In the order of what that GPU's library does.
  static void copy_beside(const GpuOf& gpu, const void* from, void* to, std::size_t bytes) {
    const Context there = gpu.on({});
    backend::of(there).copy_memory(there, from, to, bytes);
  }

  // A copy, which the object may keep, in the library and on the device asked for.
  nb::object given(StatesView states) const {
    if (states.on_device) {
      const GpuOf gpu(like_);
      MadeArray<std::int32_t> copy = gpu.make_states({states.rows, states.cols});
      copy_beside(gpu, states.data, copy.data, states.size() * sizeof(*copy.data));
      return gpu.finish(std::move(copy));
    }
    States copy(states.rows, states.cols, {states.data, states.data + states.size()});
    return like_.answer(to_numpy(std::move(copy)));
  }

  // A seed for each batch of draws, of 31 bits: what every library's generator takes.
  static std::uint64_t seed_of(const DrawKey& key, std::uint64_t first_index) {
    const auto use = (std::uint64_t{static_cast<std::uint32_t>(key.purpose)} << 32) | key.detail;
    return derive_seed(derive_seed(key.seed, use), first_index) >> 33;
  }

  static std::string answer_of(const char* method) {
    return fmt::format("what {} returned", method);
  }

  static void expect_rows(const char* method, std::size_t found, std::size_t expected) {
    if (found == expected) return;
    throw_invalid("evaluate", "{} must return as many rows as it is given, {}, got {}", method,
                  expected, found);
  }

  States on_host(StatesView states) const {
    States host(states.rows, states.cols);
    if (states.on_device) {
      copy_beside(GpuOf(like_), states.data, host.data(), states.size() * sizeof(*states.data));
    } else {
      std::copy_n(states.data, states.size(), host.data());
    }
    return host;
  }

  // Values of the host to where they are wanted.
  template <typename T>
  void write(std::span<const T> values, bool on_device, T* out) const {
    if (on_device) {
      copy_beside(GpuOf(like_), values.data(), out, values.size_bytes());
    } else {
      std::copy_n(values.data(), values.size(), out);
    }
  }
  void write(std::span<const double> values, bool on_device, double* out) const {
    write<double>(values, on_device, out);
  }

  void copy_states(const char* method, const nb::object& answer, MutableStatesView out) const {
    if (out.on_device && is_on_gpu({answer})) {
      const GpuOf gpu(like_);
      const GpuStates states(answer_of(method), {answer}, gpu, dim_, num_categories_);
      expect_rows(method, states.rows(), out.rows);
      copy_beside(gpu, states.view().data, out.data, out.size() * sizeof(*out.data));
      return;
    }
    const StatesArgument states(answer_of(method), {answer}, dim_, num_categories_);
    expect_rows(method, states.rows(), out.rows);
    write<std::int32_t>({states.view().data, states.view().size()}, out.on_device, out.data);
  }

  // Log-probabilities [rows, D, S], each row of S checked and normalised, to out [rows, D*S].
  void write_rows(const char* method, const nb::object& answer, MatrixView<double> out) const {
    const std::string what = answer_of(method);
    const auto S = static_cast<std::size_t>(num_categories_);
    const Doubles values = ArrayLike{answer}.doubles("evaluate", what, "[B,D,S]");
    expect_rows(method, values.shape(0), out.rows);
    if (values.shape(1) != dim_ || values.shape(2) != S) {
      throw_invalid("evaluate", "{} must have shape [{}, {}, {}], got [{}, {}, {}]", what, out.rows,
                    dim_, S, values.shape(0), values.shape(1), values.shape(2));
    }
    std::vector<double> normalized(values.data(), values.data() + values.size());
    normalize_given_rows(what, {normalized.data(), out.rows * dim_, S});
    write(normalized, out.on_device, out.data);
  }

  nb::object object_;
  ArrayLike like_;  // arrays go out in its library and on its device
  bool on_gpu_;     // where states may lie as well
  std::size_t dim_;
  int num_categories_;
  bool samples_;  // else the object itself is called
  bool has_marginals_;
  bool has_joint_;
  bool draws_transitions_;  // else they factorise over coordinates
  int num_steps_;
};

}  // namespace

std::shared_ptr<const Coupling> outside_coupling(nb::handle object, ArrayLike like, std::size_t dim,
                                                 int num_categories) {
  if (!has_method(object, "sample") && PyCallable_Check(object.ptr()) == 0) return nullptr;
  return std::make_shared<OutsideCoupling>(object, std::move(like), dim, num_categories);
}

}  // namespace bridgemark::python
