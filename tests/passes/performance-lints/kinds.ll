; SPEC kernel: kernel entry 0 1
; SPEC warnings: perf
; What costs is named with its functions, and nothing changes.
define void @kernel(ptr %values, i64 %id, i64 %width, i32 %narrow) {
  call void @text(ptr %values)
  call void @sort()
  call void @small()
  %row = udiv i64 %id, %width
  %next = add i64 %row, 1
  %place = getelementptr float, ptr %values, i64 %next
  store float 1.0, ptr %place
  ; By a constant, in 32 bits, and for a value: these are fine.
  %half = udiv i64 %id, 10
  %place2 = getelementptr float, ptr %values, i64 %half
  store float 1.0, ptr %place2
  %n = urem i32 7, %narrow
  %place3 = getelementptr float, ptr %values, i32 %n
  store float 1.0, ptr %place3
  %value = udiv i64 %id, %width
  store i64 %value, ptr %values
  ret void
}
define internal void @text(ptr %to) {
  %a = call i1 @_ZN4core3fmt5write17h0123456789abcdefE(ptr %to)
  ret void
}
define internal i1 @_ZN4core3fmt5write17h0123456789abcdefE(ptr %to) {
  store volatile i32 1, ptr %to
  ret i1 false
}
; Two that are too large together.
define internal void @sort() {
  %one = alloca [16000 x i8]
  %two = alloca i8, i64 385
  store volatile i8 0, ptr %one
  store volatile i8 0, ptr %two
  ret void
}
; As much as may be.
define internal void @small() {
  %array = alloca [4096 x float]
  store volatile i8 0, ptr %array
  ret void
}
; CHECK: udiv i64 %id, %width
; CHECK: call i1 @_ZN4core3fmt5write17h0123456789abcdefE(ptr %to)
; CHECK: alloca [16000 x i8]
; CHECK: ; lint: Formatting("_ZN4core3fmt5write17h0123456789abcdefE") in kernel
; CHECK-NEXT: ; lint: PrivateMemory { bytes: 16385 } in sort
; CHECK-NEXT: ; lint: DivisionInAddress in kernel
; CHECK-NEXT: end of violations
