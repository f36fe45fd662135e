; SPEC kernel: kernel entry 0 1
; RUN: launch-offset,simplify,capabilities
; A kernel that panics only where its launch does not begin at zero can panic.
define void @kernel(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  %shifted = icmp ne i64 %x, 0
  br i1 %shifted, label %panic, label %end
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
end:
  ret void
}
declare i64 @__schism_global_offset_x()
declare void @__schism_panic(ptr, i64, ptr)
; CHECK: define void @kernel(ptr {{.*}}
; CHECK-NEXT: end:
; CHECK-NEXT: ret void
; CHECK: define void @kernel_with_offset(
; CHECK: call void @__schism_panic(
; CHECK: kernel kernel: can-panic offset-variant=kernel_with_offset
