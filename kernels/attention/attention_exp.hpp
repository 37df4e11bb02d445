// 2^x for the softmax, over an instruction set's vectors.
#pragma once

namespace kernels::attention {
namespace {

/// 2^x for x <= 127, relative error below kExpError; below -126, where fp32 has no normal numbers
/// left, 2^-126 (weights that small vanish in the sum). 2^f of the fraction is the polynomial of
/// the fifth power that is 1 at 0 and whose largest relative error in [0, 1] is least, 8.2e-8 (by
/// least squares weighted anew until all maxima are equal); the rest is the rounding of fp32.
template <class F>
typename F::V exp2_normal(typename F::V x) {
  x = F::max(x, F::set1(-126.0f));
  const typename F::V f = F::fraction(x);
  typename F::V y = F::set1(1.8671333e-3f);
  y = F::fma(y, f, F::set1(9.0170235e-3f));
  y = F::fma(y, f, F::set1(5.5799918e-2f));
  y = F::fma(y, f, F::set1(2.4016445e-1f));
  y = F::fma(y, f, F::set1(6.9315131e-1f));
  y = F::fma(y, f, F::set1(1.0f));
  return F::times_pow2(y, x);
}

}  // namespace
}  // namespace kernels::attention
