; SPEC kernel: kernel entry 0 1
; SPEC warnings: perf
; The result of a division is followed into what is called, and out of what divides.
define void @kernel(ptr %values, i64 %id, i64 %width) {
  %column = urem i64 %id, %width
  call void @set(ptr %values, i64 %column)
  %row = call i64 @row(i64 %id, i64 %width)
  %scaled = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %row, i64 4)
  %index = extractvalue { i64, i1 } %scaled, 0
  call void @set(ptr %values, i64 %index)
  %unused = call i64 @never_an_index(i64 %id, i64 %width)
  ret void
}
define internal i64 @row(i64 %id, i64 %width) {
  %row = sdiv i64 %id, %width
  ret i64 %row
}
define internal i64 @never_an_index(i64 %id, i64 %width) {
  %row = sdiv i64 %id, %width
  ret i64 %row
}
define internal void @set(ptr %values, i64 %index) {
  %place = getelementptr i32, ptr %values, i64 %index
  store i32 1, ptr %place
  ret void
}
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
; CHECK: ; lint: DivisionInAddress in kernel in row
; CHECK-NEXT: end of violations
