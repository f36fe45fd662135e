; A body with an operation of one architecture is not offered; one with what every target has is.
; SPEC kernel: kernel entry 0 1
; SPEC body: declare <4 x float> @llvm.x86.sse.rcp.ps(<4 x float>) define void @of_one_cpu(ptr %p) { %v = load <4 x float>, ptr %p  %w = call <4 x float> @llvm.x86.sse.rcp.ps(<4 x float> %v)  store <4 x float> %w, ptr %p  ret void } define void @over_it(ptr %p) { call void @of_one_cpu(ptr %p)  ret void }
; SPEC body: declare float @llvm.sqrt.f32(float) define float @root(float %x) { %y = call float @llvm.sqrt.f32(float %x)  ret float %y }
; CHECK-NOT: llvm.x86
; CHECK: declare void @over_it(ptr)
; CHECK: define internal {{.*}}@root(float
; CHECK-NOT: llvm.x86
define void @kernel(ptr %p) {
  call void @over_it(ptr %p)
  %y = call float @root(float 2.0)
  store float %y, ptr %p
  ret void
}

declare void @over_it(ptr)
declare float @root(float)
