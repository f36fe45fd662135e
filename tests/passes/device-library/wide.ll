; SPEC target: nvptx64-nvidia-cuda
; Integers of 128 bits.
define double @up(i128 %x, i128 %y) {
  %a = sitofp i128 %x to double
  %b = uitofp i128 %y to float
  %c = fpext float %b to double
  %d = fadd double %a, %c
  ret double %d
}
define i128 @down(double %x, float %y, i64 %z) {
  %a = fptosi double %x to i128
  %b = call i128 @llvm.fptoui.sat.i128.f32(float %y)
  %c = add i128 %a, %b
  ; What is narrower stays.
  %d = sitofp i64 %z to float
  %e = call i128 @llvm.fptosi.sat.i128.f32(float %d)
  %f = add i128 %c, %e
  ret i128 %f
}
declare i128 @llvm.fptoui.sat.i128.f32(float)
declare i128 @llvm.fptosi.sat.i128.f32(float)
; CHECK: %1 = call double @schism.lib.__floattidf(i128 %x)
; CHECK: %2 = call float @schism.lib.__floatuntisf(i128 %y)
; CHECK: call i128 @schism.lib.__fixdfti(double %x)
; CHECK: call i128 @schism.lib.__fixunssfti(float %y)
; CHECK: %d = sitofp i64 %z to float
; CHECK: call i128 @schism.lib.__fixsfti(float %d)
