; SPEC panic: panic_bounds_check "index" located
; The message belongs to the function, the location is its last argument.
@loc = constant i8 0
define i32 @f(i64 %i) {
  %ok = icmp ult i64 %i, 8
  br i1 %ok, label %good, label %bad
good:
  ret i32 1
bad:
  call void @panic_bounds_check(i64 %i, i64 8, ptr @loc)
  unreachable
}
declare void @panic_bounds_check(i64, i64, ptr)
; CHECK: bad:
; CHECK-NEXT: call void @__schism_panic(ptr @schism.panic, i64 5, ptr @loc)
; CHECK-NEXT: unreachable
