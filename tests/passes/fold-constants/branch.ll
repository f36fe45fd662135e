; SPEC constant: __schism_is_device 1
; A branch on the constant folds, and what it kept alive is gone.
@__schism_is_device = external global i8
define i32 @f() {
  %v = load i8, ptr @__schism_is_device
  %d = icmp ne i8 %v, 0
  br i1 %d, label %device, label %host
device:
  ret i32 1
host:
  %r = call i32 @host_only()
  ret i32 %r
}
declare i32 @host_only()
; CHECK: define i32 @f()
; CHECK: ret i32 1
; CHECK-NOT: br
; CHECK-NOT: call
; CHECK: declare
