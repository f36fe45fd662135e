; SPEC kernel: fold entry 0 1
; SPEC kernel: other entry 0 1
; SPEC host-heap: fold
; A kernel that works in the program's own memory uses the program's allocator.
declare noalias ptr @_RNvCs1_7___rustc12___rust_alloc(i64, i64 allocalign) #0
declare noalias ptr @_RNvCs1_7___rustc19___rust_alloc_zeroed(i64, i64 allocalign) #0
declare void @_RNvCs1_7___rustc14___rust_dealloc(ptr, i64, i64)
declare noalias ptr @_RNvCs1_7___rustc14___rust_realloc(ptr, i64, i64, i64)
declare void @_RNvCs1_7___rustc35___rust_no_alloc_shim_is_unstable_v2()
declare ptr @another___rust_alloc_of(i64)
define void @fold(ptr %to) {
  call void @_RNvCs1_7___rustc35___rust_no_alloc_shim_is_unstable_v2()
  %first = call ptr @_RNvCs1_7___rustc12___rust_alloc(i64 24, i64 8)
  %second = call ptr @_RNvCs1_7___rustc14___rust_realloc(ptr %first, i64 24, i64 8, i64 48)
  store ptr %second, ptr %to
  %third = call ptr @_RNvCs1_7___rustc19___rust_alloc_zeroed(i64 16, i64 4)
  call void @_RNvCs1_7___rustc14___rust_dealloc(ptr %third, i64 16, i64 4)
  %other = call ptr @another___rust_alloc_of(i64 8)
  ret void
}
define void @other(ptr %to) {
  ret void
}
attributes #0 = { allockind("alloc,uninitialized,aligned") allocsize(0) "alloc-family"="__rust_alloc" }
; CHECK: declare noalias ptr @__schism_host_alloc(i64, i64 allocalign)
; CHECK-LABEL: define void @fold(ptr %to)
; CHECK-NOT: no_alloc_shim
; CHECK: %first = call ptr @__schism_host_alloc(i64 24, i64 8)
; CHECK-NEXT: %second = call ptr @__schism_host_realloc(ptr %first, i64 24, i64 8, i64 48)
; CHECK: %third = call ptr @__schism_host_alloc_zeroed(i64 16, i64 4)
; CHECK-NEXT: call void @__schism_host_dealloc(ptr %third, i64 16, i64 4)
; CHECK-NEXT: %other = call ptr @another___rust_alloc_of(i64 8)
