; SPEC type: U64 Display
; SPEC panic: panic_bounds_check formatted located
; SPEC message: {0}
; SPEC value: 3 1 0
; A call that does not have the arguments that its message is made of still panics.
define void @f() {
  call void @panic_bounds_check(i64 1, i64 8, ptr null)
  unreachable
}
declare void @panic_bounds_check(i64, i64, ptr)
; CHECK: call void @__schism_panic(ptr @schism.panic, i64 14, ptr null)
; CHECK-NEXT: unreachable
