; SPEC kernel: kernel entry 0 1
; A function without a body that no target provides, with the chain of calls.
define void @kernel() {
  call void @middle()
  ret void
}
define internal void @middle() {
  %r = call i64 @write(i32 1)
  ret void
}
declare i64 @write(i32)
; CHECK: ExternalFunction("write"), chain: ["middle", "kernel"]
; CHECK-NEXT: end of violations
