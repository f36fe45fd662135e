; SPEC kernel: a entry 0 1
; SPEC kernel: b entry 0 1
; SPEC part: a
; Vtables, tables of functions and statics that point at themselves stay with the kernel that reaches them.
@vtable = internal constant { ptr, i64, i64, ptr } { ptr @drop, i64 8, i64 8, ptr @method }
@table = internal constant [2 x ptr] [ptr @one, ptr @two]
@circular = internal constant ptr @circular
@only_b = internal constant [1 x ptr] [ptr @three]
@circular_b = internal constant { ptr, ptr } { ptr @circular_b, ptr @four }
define void @a(ptr %p, i64 %i) {
  %at = getelementptr ptr, ptr @table, i64 %i
  %f = load ptr, ptr %at
  call void %f(ptr @circular)
  store ptr @vtable, ptr %p
  ret void
}
define void @b(ptr %p, i64 %i) {
  %at = getelementptr ptr, ptr @only_b, i64 %i
  %f = load ptr, ptr %at
  call void %f(ptr @circular_b)
  %x = call i64 @__schism_global_id_x()
  ret void
}
define internal void @drop(ptr %p) {
  ret void
}
define internal void @method(ptr %p) {
  call void @shared()
  ret void
}
define internal void @one(ptr %p) {
  ret void
}
define internal void @two(ptr %p) {
  ret void
}
define internal void @three(ptr %p) {
  call void @shared()
  ret void
}
define internal void @four(ptr %p) {
  ret void
}
define internal void @shared() {
  ret void
}
declare i64 @__schism_global_id_x()
; CHECK-NOT: only_b
; CHECK-NOT: circular_b
; CHECK: @vtable = internal constant { ptr, i64, i64, ptr } { ptr @drop, i64 8, i64 8, ptr @method }
; CHECK-NEXT: @table = internal constant [2 x ptr] [ptr @one, ptr @two]
; CHECK-NEXT: @circular = internal constant ptr @circular
; CHECK-NOT: define void @b
; CHECK-NOT: @three
; CHECK-NOT: @four
; CHECK-NOT: __schism_global_id_x
; CHECK: define void @a(
; CHECK: define internal void @drop(
; CHECK: define internal void @method(
; CHECK: define internal void @one(
; CHECK: define internal void @two(
; CHECK: define internal void @shared(
