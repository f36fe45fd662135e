; SPEC kernel: kernel entry 0 1
; Builtins, the mathematical library and intrinsics are provided; so is an empty assembly, which
; only keeps the optimiser from looking through.
define void @kernel(float %v, ptr %p) {
  %x = call i64 @__schism_global_id_x()
  %s = call float @sinf(float %v)
  %t = call float @llvm.sqrt.f32(float %s)
  call void asm sideeffect "", "r,~{memory}"(ptr %p)
  ret void
}
declare i64 @__schism_global_id_x()
declare float @sinf(float)
declare float @llvm.sqrt.f32(float)
; CHECK-NOT: External
; CHECK-NOT: Assembly
; CHECK: end of violations
