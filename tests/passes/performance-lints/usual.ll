; SPEC kernel: kernel entry 0 1
; Divisions are for those who ask; the numbers of a module lead to where a finding comes from.
; RUN: call-sites,simplify,performance-lints
define void @kernel(ptr %values, i64 %id, i64 %width) {
  %row = udiv i64 %id, %width
  %place = getelementptr float, ptr %values, i64 %row
  store float 1.0, ptr %place
  call void @inlined(ptr %values)
  ret void
}
define internal void @inlined(ptr %values) alwaysinline {
  %array = alloca [20000 x i8]
  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %values, i64 20000, i1 true)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
; CHECK: ; lint: PrivateMemory { bytes: 20000 } in kernel
; CHECK-NEXT: end of violations
