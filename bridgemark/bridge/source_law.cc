#include "bridgemark/bridge/source_law.h"

#include <utility>

namespace bridgemark {

SourceLaw::SourceLaw(CpPotential mixture)
    : mixture_(std::make_shared<const CpPotential>(std::move(mixture))),
      log_total_(mixture_->log_total()) {}

SourceLaw::SourceLaw(ChainPotential chain)
    : chain_(std::make_shared<const ChainPotential>(std::move(chain))),
      log_total_(chain_->log_total()) {}

const std::vector<double>& SourceLaw::log_weights() const {
  return mixture_ ? mixture_->log_beta() : chain_->log_start();
}

const Array3<double>& SourceLaw::log_cores() const {
  return mixture_ ? mixture_->log_cores() : chain_->log_cores();
}

const Array3<double>& SourceLaw::log_moves() const {
  static const Array3<double> none;
  return mixture_ ? none : chain_->log_moves();
}

void SourceLaw::log_probability(const Context& context, StatesView x, std::span<double> out) const {
  if (mixture_) {
    mixture_->log_value(context, x, out);
  } else {
    chain_->log_value(context, x, out);
  }
  for (std::size_t b = 0; b < x.rows; ++b) out[b] -= log_total_;
}

}  // namespace bridgemark
