// 2^x for the softmax, over an instruction set's vectors.
#pragma once

namespace kernels::attention {
namespace {

/// 2^x for x <= 127, relative error below kExpError; below -126, where fp32 has no normal numbers
/// left, 2^-126 (weights that small vanish in the sum). The fraction, within a half of 0, goes
/// through the Taylor series of 2^f to the sixth power, whose remainder is
/// (ln 2 / 2)^7 / 7! = 1.2e-7; the rest is the rounding of fp32.
template <class F>
typename F::V exp2_normal(typename F::V x) {
  x = F::max(x, F::set1(-126.0f));
  const typename F::V whole = F::round(x);
  const typename F::V f = F::sub(x, whole);
  typename F::V y = F::set1(1.5403530e-4f);
  y = F::fma(y, f, F::set1(1.3333558e-3f));
  y = F::fma(y, f, F::set1(9.6181291e-3f));
  y = F::fma(y, f, F::set1(5.5504109e-2f));
  y = F::fma(y, f, F::set1(2.4022651e-1f));
  y = F::fma(y, f, F::set1(6.9314718e-1f));
  y = F::fma(y, f, F::set1(1.0f));
  return F::mul(y, F::pow2(whole));
}

}  // namespace
}  // namespace kernels::attention
