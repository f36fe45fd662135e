; SPEC kernel: kernel entry 16 8
; SPEC param: 0 8 8 pointer
; SPEC param: 8 8 8 integer
; SPEC constant: is_device 1
; SPEC panic: bounds "out of bounds" located
; From what rustc lowers to a device image.
@is_device = external global i8
@place = private constant i8 0
define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) unnamed_addr #0 personality ptr @rust_eh_personality {
  %device = load i8, ptr @is_device
  %d = icmp ne i8 %device, 0
  br i1 %d, label %device.body, label %host.body
device.body:
  %p = load ptr, ptr %k
  %n.at = getelementptr i8, ptr %k, i64 8
  %n = load i64, ptr %n.at
  %in = icmp ult i64 %x, %n
  br i1 %in, label %ok, label %out
ok:
  %to = getelementptr i64, ptr %p, i64 %x
  store i64 %x, ptr %to
  ret void
out:
  invoke void @bounds(ptr @place) to label %never unwind label %cleanup
never:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @drop_in_place()
  resume { ptr, i32 } %pad
host.body:
  call void @system()
  ret void
}
define void @drop_in_place() {
  call void @system()
  ret void
}
declare void @bounds(ptr) noreturn
declare void @system()
declare i32 @rust_eh_personality(...)
attributes #0 = { "target-cpu"="x86-64" "probe-stack"="inline-asm" }
; CHECK-NOT: @system
; CHECK-NOT: target-cpu
; CHECK: @entry(ptr
; CHECK-NOT: is_device
; CHECK: call void @__schism_panic(
; CHECK-NEXT: unreachable
; CHECK: define void @kernel(ptr %0, i64 %1)
; CHECK: call {{.*}} @entry(
; CHECK: ; kernel kernel: can-panic
; CHECK-NEXT: end of violations
