; SPEC constant-function: is_device 1
; Unoptimised code asks through a function, here through an invoke.
define i32 @f() personality ptr @rust_eh_personality {
  %d = invoke zeroext i1 @is_device() to label %go unwind label %cleanup
go:
  br i1 %d, label %device, label %host
device:
  ret i32 1
host:
  ret i32 2
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
declare zeroext i1 @is_device()
declare i32 @rust_eh_personality(...)
; CHECK: define i32 @f()
; CHECK-NOT: invoke
; CHECK: ret i32 1
; CHECK-NOT: ret i32 2
; CHECK: declare
