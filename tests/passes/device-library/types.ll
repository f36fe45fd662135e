; SPEC target: nvptx64-nvidia-cuda
; Vectors go element by element and small numbers through larger ones. What only has the name of a function of C is left alone.
define <2 x half> @f(<2 x half> %x, <2 x float> %y, i32 %n, fp128 %q, ptr %out) {
  %powi = call <2 x float> @llvm.powi.v2f32.i32(<2 x float> %y, i32 %n)
  store <2 x float> %powi, ptr %out
  %big = call fp128 @llvm.sin.f128(fp128 %q)
  store fp128 %big, ptr %out
  %other = call i32 @sin(i32 %n)
  store i32 %other, ptr %out
  %exp = call <2 x half> @llvm.exp.v2f16(<2 x half> %x)
  ret <2 x half> %exp
}
declare <2 x float> @llvm.powi.v2f32.i32(<2 x float>, i32)
declare fp128 @llvm.sin.f128(fp128)
declare i32 @sin(i32)
declare <2 x half> @llvm.exp.v2f16(<2 x half>)
; CHECK: %1 = extractelement <2 x float> %y, i32 0
; CHECK-NEXT: %2 = call float @schism.lib.__powisf2(float %1, i32 %n)
; CHECK-NEXT: %3 = insertelement <2 x float> poison, float %2, i32 0
; CHECK-NEXT: %4 = extractelement <2 x float> %y, i32 1
; CHECK-NEXT: %5 = call float @schism.lib.__powisf2(float %4, i32 %n)
; CHECK-NEXT: %6 = insertelement <2 x float> %3, float %5, i32 1
; CHECK-NEXT: store <2 x float> %6, ptr %out
; CHECK: call fp128 @llvm.sin.f128(
; CHECK: call i32 @sin(i32 %n)
; CHECK: %7 = extractelement <2 x half> %x, i32 0
; CHECK-NEXT: %8 = fpext half %7 to float
; CHECK-NEXT: %9 = call float @schism.lib.expf(float %8)
; CHECK-NEXT: %10 = fptrunc float %9 to half
; CHECK-NEXT: insertelement <2 x half> poison, half %10, i32 0
