; SPEC kernel: kernel entry 0 1
; A function that reads the offset is called through a pointer: nobody could tell it.
@table = internal constant [1 x ptr] [ptr @reader]
define void @kernel(ptr %out) {
  call void @caller(ptr %out)
  ret void
}
define internal void @caller(ptr %out) {
  %f = load ptr, ptr @table
  call void %f(ptr %out)
  call void @reader(ptr %out)
  ret void
}
define internal void @reader(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  store i64 %x, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: OffsetByAddress("reader"), chain: ["caller", "kernel"]
; CHECK-NEXT: end of violations
