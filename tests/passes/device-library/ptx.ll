; SPEC target: nvptx64-nvidia-cuda
; A GPU has no mathematics library: functions and intrinsics become calls, except what it computes exactly by itself.
define double @f(double %x, float %y, i32 %n, ptr %sign) {
  %sin = call float @llvm.sin.f32(float %y)
  %wide = fpext float %sin to double
  %tan = call double @tan(double %wide)
  %rem = frem double %tan, %x
  %sqrt = call double @llvm.sqrt.f64(double %rem)
  %fma = call double @llvm.fma.f64(double %sqrt, double %x, double %rem)
  %powi = call double @llvm.powi.f64.i32(double %fma, i32 %n)
  %ldexp = call double @llvm.ldexp.f64.i32(double %powi, i32 %n)
  %gamma = call double @lgamma_r(double %ldexp, ptr %sign)
  %floor = call double @floor(double %gamma)
  ret double %floor
}
define i32 @memory(ptr %a, ptr %b, i64 %n) {
  %copied = call ptr @memcpy(ptr %a, ptr %b, i64 %n)
  %order = call i32 @memcmp(ptr %copied, ptr %b, i64 %n)
  ret i32 %order
}
define ptr @address() {
  ret ptr @cosf
}
declare float @llvm.sin.f32(float)
declare double @tan(double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.fma.f64(double, double, double)
declare double @llvm.powi.f64.i32(double, i32)
declare double @llvm.ldexp.f64.i32(double, i32)
declare double @lgamma_r(double, ptr)
declare double @floor(double)
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @memcmp(ptr, ptr, i64)
declare float @cosf(float)
; CHECK: define double @f(
; CHECK: %1 = call float @schism.lib.sinf(float %y)
; CHECK-NEXT: %wide = fpext float %1 to double
; CHECK-NEXT: %tan = call double @schism.lib.tan(double %wide)
; CHECK-NEXT: %2 = call double @schism.lib.fmod(double %tan, double %x)
; CHECK-NEXT: %sqrt = call double @llvm.sqrt.f64(double %2)
; CHECK-NEXT: %fma = call double @llvm.fma.f64(double %sqrt, double %x, double %2)
; CHECK-NEXT: %3 = call double @schism.lib.__powidf2(double %fma, i32 %n)
; CHECK-NEXT: %4 = call double @schism.lib.ldexp(double %3, i32 %n)
; CHECK-NEXT: %gamma = call double @schism.lib.lgamma_r(double %4, ptr %sign)
; CHECK-NEXT: %floor = call double @schism.lib.floor(double %gamma)
; CHECK: call ptr @schism.lib.memcpy(
; CHECK: call i32 @schism.lib.memcmp(
; CHECK: ret ptr @schism.lib.cosf
; CHECK-NOT: declare double @tan(
; CHECK: declare double @schism.lib.tan(double)
