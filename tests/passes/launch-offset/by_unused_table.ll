; SPEC kernel: kernel entry 0 1
; The address stands in a constant that no function uses: still refused, and told.
@table = constant [1 x ptr] [ptr @reader]
define void @kernel(ptr %out) {
  call void @reader(ptr %out)
  ret void
}
define internal void @reader(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  store i64 %x, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: 1 use(s) of what no device has
; CHECK-NEXT: OffsetByAddress("reader"), in constants alone
; CHECK-NEXT: end of violations
