; SPEC target: nvptx64-nvidia-cuda
; SPEC fast-math: relaxed
; RUN: fast-math,device-library
; Where the launch allows it, the GPU approximates what it has an instruction for.
define float @f(float %x, double %y) {
  %sin = call float @llvm.sin.f32(float %x)
  %log = call float @llvm.log.f32(float %sin)
  %cos = call double @llvm.cos.f64(double %y)
  %narrow = fptrunc double %cos to float
  %sum = fadd float %log, %narrow
  ret float %sum
}
declare float @llvm.sin.f32(float)
declare float @llvm.log.f32(float)
declare double @llvm.cos.f64(double)
; CHECK: call reassoc nsz arcp contract afn float @llvm.sin.f32(float %x)
; CHECK: call float @schism.lib.logf(
; CHECK: call double @schism.lib.cos(
