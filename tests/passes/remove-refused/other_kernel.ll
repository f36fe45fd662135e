; SPEC kernel: fold entry 0 1
; SPEC kernel: own entry 0 1
; SPEC host-heap: fold
; Where another kernel reaches the allocator that may not use it, nothing is changed.
declare noalias ptr @_RNvCs1_7___rustc12___rust_alloc(i64, i64)
define void @fold(ptr %to) {
  %block = call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 24, i64 8)
  store ptr %block, ptr %to
  ret void
}
define void @own(ptr %to) {
  %block = call ptr @helper()
  store ptr %block, ptr %to
  ret void
}
define internal ptr @helper() {
  %block = call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 8, i64 8)
  ret ptr %block
}
; CHECK-LABEL: define void @fold(ptr %to)
; CHECK: call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 24, i64 8)
