; SPEC kernel: kernel entry 0 1
; Intrinsics of one architecture, and a call of what was a number.
define void @kernel(<4 x float> %v, i64 %n) {
  %r = call <4 x float> @llvm.x86.sse.rcp.ps(<4 x float> %v)
  %s = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %v)
  %f = inttoptr i64 %n to ptr
  call void %f()
  ret void
}
declare <4 x float> @llvm.x86.sse.rcp.ps(<4 x float>)
declare <4 x float> @llvm.sqrt.v4f32(<4 x float>)
; CHECK: Intrinsic("llvm.x86.sse.rcp.ps"), chain: ["kernel"]
; CHECK-NEXT: UnknownFunction, chain: ["kernel"]
; CHECK-NEXT: end of violations
