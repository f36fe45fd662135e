; A function with a list of arguments is refused, and what goes through the list is not a second cause.
; SPEC kernel: k entry 0 1
; CHECK: 1 use(s) of what no device has
; CHECK: violation: VariadicFunction("sum")
; CHECK: end of violations
define void @k() {
  %sum = call i64 (i64, ...) @sum(i64 1, i64 2)
  ret void
}
define internal i64 @sum(i64 %count, ...) {
  %list = alloca [24 x i8]
  call void @llvm.va_start.p0(ptr %list)
  call void @llvm.va_end.p0(ptr %list)
  ret i64 %count
}
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
