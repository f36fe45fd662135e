; SPEC kernel: kernel entry 0 1
; Nothing reads the offset: no variant, and the declarations go.
define void @kernel(ptr %out) {
  store i64 1, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
declare i64 @__schism_global_offset_y()
; CHECK-NOT: _with_offset
; CHECK: define void @kernel(ptr %out) {
; CHECK-NEXT: store i64 1, ptr %out
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NOT: offset
