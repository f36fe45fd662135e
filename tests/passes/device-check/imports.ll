; What another image defines is not refused; what nobody defines is.
; SPEC import: listed
; CHECK: violation: ExternalFunction("unlisted")
; CHECK-NOT: ExternalFunction("listed")
; CHECK: end of violations
; SPEC kernel: k entry 0 1
define void @k() {
  call void @listed()
  call void @unlisted()
  ret void
}
declare void @listed()
declare void @unlisted()
