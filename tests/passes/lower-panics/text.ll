; SPEC panic: panic_str text located
; The message is an argument.
@msg = constant [3 x i8] c"abc"
@loc = constant i8 0
define void @f() {
  call void @panic_str(ptr @msg, i64 3, ptr @loc)
  unreachable
}
declare void @panic_str(ptr, i64, ptr)
; CHECK: call void @__schism_panic(ptr @msg, i64 3, ptr @loc)
; CHECK-NEXT: unreachable
