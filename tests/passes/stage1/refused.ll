; SPEC kernel: kernel entry 0 1
; A pipeline ends at the pass that refuses the module.
define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  call void @write()
  ret void
}
declare void @write()
; CHECK: 1 use(s) of what no device has
; CHECK-NEXT: violation: ExternalFunction("write"), chain: ["kernel"]
; CHECK-NEXT: end of violations
