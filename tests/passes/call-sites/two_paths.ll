; RUN: call-sites,remove-refused,device-check
; SPEC kernel: one entry 0 1
; SPEC kernel: two entry 0 1
; Every use is listed, and a function that stays one function has its users in the report.
define void @one() {
  call void @middle()
  ret void
}
define void @two() {
  call void @middle()
  %r = call i64 @write(i32 2)
  ret void
}
define internal void @middle() noinline {
  %r = call i64 @write(i32 1)
  ret void
}
declare i64 @write(i32)
; CHECK: ExternalFunction("write"), chain: ["middle", "two"], middle calls write #0
; CHECK-NEXT: ExternalFunction("write"), chain: ["two"], two calls write #0
; CHECK-NEXT: end of violations
