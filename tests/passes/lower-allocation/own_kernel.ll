; SPEC kernel: fold entry 0 1
; SPEC kernel: own entry 0 1
; SPEC host-memory: fold
; Beside a kernel that the program launches itself, nothing may allocate.
declare noalias ptr @_RNvCs1_7___rustc12___rust_alloc(i64, i64)
define void @fold(ptr %to) {
  %block = call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 24, i64 8)
  store ptr %block, ptr %to
  ret void
}
define void @own(ptr %to) {
  ret void
}
; CHECK-LABEL: define void @fold(ptr %to)
; CHECK: call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 24, i64 8)
