; SPEC target: nvptx64-nvidia-cuda
; EMIT: assembly
; What stays is what LLVM has exact instructions for.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @kernel(float %x, double %y, ptr %out) {
  %a = call float @llvm.sqrt.f32(float %x)
  %b = call float @llvm.fma.f32(float %a, float %a, float %x)
  %c = call float @llvm.floor.f32(float %b)
  %d = call float @llvm.round.f32(float %c)
  %e = call float @llvm.sin.f32(float %d)
  store float %e, ptr %out
  %f = call double @llvm.sqrt.f64(double %y)
  %g = call double @llvm.ceil.f64(double %f)
  %sum = fadd double %g, %y
  %h = call double @llvm.rint.f64(double %sum)
  %i = call double @llvm.pow.f64(double %h, double %y)
  store double %i, ptr %out
  ret void
}
declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.floor.f32(float)
declare float @llvm.round.f32(float)
declare float @llvm.sin.f32(float)
declare double @llvm.sqrt.f64(double)
declare double @llvm.ceil.f64(double)
declare double @llvm.rint.f64(double)
declare double @llvm.pow.f64(double, double)
; CHECK: sqrt.rn.f32
; CHECK: fma.rn.f32
; CHECK: cvt.rmi.f32.f32
; CHECK: call.uni
; CHECK: sqrt.rn.f64
; CHECK: cvt.rpi.f64.f64
; CHECK: cvt.rni.f64.f64
; CHECK: call.uni
