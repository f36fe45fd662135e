; SPEC kernel: own entry_own 0 1
; SPEC kernel: vector entry_vector 0 1
; SPEC kernel: lent entry_lent 0 1
; SPEC kernel: passed entry_passed 0 1
; SPEC kernel: explicit entry_vector 0 1
; SPEC host-memory: own
; SPEC host-memory: vector
; SPEC host-memory: lent
; SPEC host-memory: passed
; What is the program's may not be changed while a kernel unwinds; locals, of callers too, may be.
declare void @closure()
declare i32 @personality(...)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @entry_own(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @personality {
  %own = alloca i64
  store i64 1, ptr %k
  invoke void @closure() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  %at = getelementptr i8, ptr %own, i64 4
  store i32 0, ptr %at
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 8, i1 false)
  resume { ptr, i32 } %pad
}
define void @entry_vector(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @personality {
  invoke void @closure() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  %vector = load ptr, ptr %k
  store i64 0, ptr %vector
  resume { ptr, i32 } %pad
}
define void @set(ptr %to) {
  store i64 0, ptr %to
  ret void
}
define void @guarded(ptr %lent) personality ptr @personality {
  invoke void @closure() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @set(ptr %lent)
  resume { ptr, i32 } %pad
}
define void @entry_lent(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  %own = alloca i64
  call void @guarded(ptr %own)
  ret void
}
define void @entry_passed(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  call void @guarded(ptr %k)
  ret void
}
; CHECK: kernel own:
; CHECK-NOT: unwinding
; CHECK: kernel vector: needs unwinding
; CHECK-NEXT: kernel lent:
; CHECK-NOT: unwinding
; CHECK: kernel passed: needs unwinding
; CHECK-NEXT: kernel explicit:
; CHECK-NOT: unwinding
; CHECK: end of violations
