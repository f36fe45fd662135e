; The host's own memory functions stay; with the library, its mathematics does not.
define double @f(double %x, ptr %a, ptr %b, i64 %n) {
  %copied = call ptr @memcpy(ptr %a, ptr %b, i64 %n)
  %sin = call double @llvm.sin.f64(double %x)
  %trunc = call double @llvm.trunc.f64(double %sin)
  %exp = call double @expm1(double %trunc)
  ret double %exp
}
declare ptr @memcpy(ptr, ptr, i64)
declare double @llvm.sin.f64(double)
declare double @llvm.trunc.f64(double)
declare double @expm1(double)
; CHECK: %copied = call ptr @memcpy(
; CHECK: call double @schism.lib.sin(double %x)
; CHECK: call double @llvm.trunc.f64(
; CHECK: call double @schism.lib.expm1(
