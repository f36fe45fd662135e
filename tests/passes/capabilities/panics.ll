; SPEC kernel: direct entry 0 1
; SPEC kernel: deep entry 0 1
; SPEC kernel: table entry 0 1
; SPEC kernel: never entry 0 1
; A panic is reached through calls and through constants.
@handlers = internal constant [1 x ptr] [ptr @helper]
@message = internal constant [4 x i8] c"boom"
define void @direct() {
  call void @__schism_panic(ptr @message, i64 4, ptr null)
  unreachable
}
define void @deep() {
  call void @helper()
  ret void
}
define void @table() {
  %f = load ptr, ptr @handlers
  call void %f()
  ret void
}
define void @never() {
  ret void
}
define internal void @helper() {
  call void @__schism_panic(ptr @message, i64 4, ptr null)
  unreachable
}
declare void @__schism_panic(ptr, i64, ptr)
; CHECK: ; kernel direct: can-panic
; CHECK-NEXT: ; kernel deep: can-panic
; CHECK-NEXT: ; kernel table: can-panic
; CHECK-NEXT: ; kernel never:
; CHECK-NEXT: end of violations
