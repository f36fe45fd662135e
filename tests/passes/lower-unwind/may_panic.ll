; RUN: lower-unwind,lower-panics
; SPEC panic: panic_bounds "out of bounds" located
; What can reach a panic may unwind, whatever it says; all else may not.
define internal void @checked(i64 %x) nounwind {
  %inside = icmp ult i64 %x, 8
  br i1 %inside, label %next, label %panic
next:
  ret void
panic:
  call void @panic_bounds(i64 %x, i64 8, ptr null)
  unreachable
}
define void @calls(i64 %x) nounwind {
  call void @checked(i64 %x) nounwind
  ret void
}
define void @computes(double %x) {
  %y = call double @sin(double %x)
  %i = call i64 @__schism_global_id_x()
  ret void
}
define void @elsewhere() {
  call void @not_here_yet()
  ret void
}
declare void @panic_bounds(i64, i64, ptr) noreturn nounwind
declare void @not_here_yet() nounwind
declare double @sin(double)
declare i64 @__schism_global_id_x()
; CHECK: define internal void @checked(i64 %x) {
; CHECK: define void @calls(i64 %x) {
; CHECK-NEXT: call void @checked(i64 %x)
; CHECK-NEXT: ret void
; CHECK: define void @computes(double %x) #0 {
; CHECK-NEXT: call double @sin(double %x) #0
; CHECK-NEXT: call i64 @__schism_global_id_x() #0
; CHECK: define void @elsewhere() {
; CHECK-NEXT: call void @not_here_yet()
; CHECK-NEXT: ret void
; CHECK: declare void @__schism_panic(ptr, i64, ptr) #2
; CHECK: attributes #0 = { nounwind }
; CHECK-NEXT: attributes #1 = { noreturn }
; CHECK-NEXT: attributes #2 = { cold noreturn }
