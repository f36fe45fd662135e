; SPEC kernel: kernel entry 0 1
; What only cleanup needs, only what unwinds needs.
define void @kernel(ptr %p) personality ptr @rust_eh_personality {
  invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %next unwind label %cleanup
next:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @halve(ptr %p)
  resume { ptr, i32 } %pad
}
define internal void @halve(ptr %p) {
  %value = load double, ptr %p
  %half = fmul double %value, 5.0e-1
  store double %half, ptr %p
  ret void
}
declare void @__schism_panic(ptr, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
; CHECK: ; kernel kernel: can-panic
; CHECK-NEXT: end of violations
