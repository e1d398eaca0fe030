#pragma once

namespace bridgemark {

// A sum that has the same bits whatever the order of its terms and however they are grouped: over
// blocks, threads or ranks. A term is split in a multiple of 2^-25 and one of 2^-51, what is below
// is rounded off, and additions of either part are exact. It holds up to 2^27 terms whose absolute
// values add up to at most 2^27; a NaN or an infinity among them makes it NaN. Two sums are added
// by adding their parts.
struct ReproducibleSum {
  double coarse = 0.0;
  double fine = 0.0;

  void add(double term) {
    const double part = (term + kToCoarse) - kToCoarse;
    coarse += part;
    fine += ((term - part) + kToFine) - kToFine;
  }
  double value() const { return coarse + fine; }

 private:
  // Numbers near them have this distance: 2^-25 and 2^-51.
  static constexpr double kToCoarse = 1.5 * (1 << 27), kToFine = 3.0;
};

}  // namespace bridgemark
